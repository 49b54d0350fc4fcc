import * as z from 'zod';
import { type AlertmanagerEvent, alertmanagerEvent } from './alertmanager.ts';
import type { JsonValue } from './domain/strict-json.ts';

/** What a sender has to show: the hook's secret as a token or as a password, or a signature of the body that is made with it. */
const alertmanagerAuth = z.enum(['bearer', 'basic', 'none']).default('bearer');
const jsonAuth = z.enum(['bearer', 'basic', 'signature', 'none']).default('bearer');
export type HookAuth = z.output<typeof jsonAuth>;

type JsonObject = { [key: string]: JsonValue };
/** The input of the task that an event asks for; undefined where it asks for none. */
type Input<Event> = (event: Event) => unknown;

/** A hook as the author of a configuration writes it. `key` says which events are one: while the task of one is open, the others join it. */
export type HookSource =
  | {
      readonly kind: 'alertmanager';
      readonly api: string;
      readonly auth?: z.input<typeof alertmanagerAuth>;
      readonly input: Input<AlertmanagerEvent>;
    }
  | {
      readonly kind: 'json';
      readonly api: string;
      readonly auth?: z.input<typeof jsonAuth>;
      readonly key: (event: JsonObject) => string;
      readonly input: Input<JsonObject>;
    };

/** A hook of any kind: its events are what `event` takes, `key` and `input` are asked for nothing else. */
export type Hook = {
  readonly source: string;
  readonly api: string;
  readonly auth: HookAuth;
  readonly event: z.ZodType;
  readonly key: (event: never) => unknown;
  readonly input: (event: never) => unknown;
};

const source = z.string().regex(/^[a-z0-9-]{1,32}$/, 'expected 1 to 32 of a-z, 0-9 and -');
const mapping = z.custom<(event: never) => unknown>((value) => typeof value === 'function', 'expected a function');
const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected a JSON object',
);

const hook = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('alertmanager'), api: z.string(), auth: alertmanagerAuth, input: mapping }),
  z.strictObject({ kind: z.literal('json'), api: z.string(), auth: jsonAuth, key: mapping, input: mapping }),
]);

function groupKey({ groupKey }: AlertmanagerEvent): string {
  return groupKey;
}

/** The hooks by source, checked each by itself; `hookFaults` checks them beside the tasks. */
export const hooks = z.record(source, hook).transform(
  (hooks): Record<string, Hook> =>
    Object.fromEntries(
      Object.entries(hooks).map(([source, each]) => {
        const { api, auth, input } = each;
        const read =
          each.kind === 'json' ? { event: jsonObject, key: each.key } : { event: alertmanagerEvent, key: groupKey };
        return [source, { source, api, auth, input, ...read }];
      }),
    ),
);

type Fault = { readonly path: string[]; readonly message: string };
type Postable = {
  readonly api: string;
  readonly files?: Readonly<Record<string, { required?: boolean | undefined }>> | undefined;
};

/** Hooks whose api there is not, or needs a file, which no event carries. */
export function hookFaults(hooks: Readonly<Record<string, Hook>>, tasks: readonly Postable[]): Fault[] {
  return Object.values(hooks).flatMap(({ source, api }) => {
    const path = ['hooks', source, 'api'];
    const task = tasks.find((each) => each.api === api);
    if (task === undefined)
      return [{ path, message: `expected one of ${tasks.map((each) => each.api).join(', ')}, got ${api}` }];
    const needsFile = Object.values(task.files ?? {}).some(({ required }) => required !== false);
    return needsFile ? [{ path, message: `expected an api that needs no file, got ${api}` }] : [];
  });
}
