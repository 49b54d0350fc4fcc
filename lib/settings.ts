import * as z from 'zod';

const queueUrls = z
  .string()
  .transform((text, ctx): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      ctx.addIssue({ code: 'custom', message: 'expected a JSON object of pool name to queue URL' });
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), z.url()));

const stage = { WEIR_STAGE: z.string().regex(/^[a-z0-9-]{1,32}$/) };
const gate = { WEIR_REDIS_URL: z.url(), WEIR_REDIS_SECRET_ARN: z.string().min(1) };
const records = { WEIR_TABLE: z.string().min(1) };
const queues = { WEIR_QUEUE_URLS: queueUrls };
const mend = { WEIR_MEND_QUEUE_URL: z.url() };
const deliver = { WEIR_DELIVER_QUEUE_URL: z.url() };
const signing = { WEIR_SIGNING_SECRET_ARN: z.string().min(1) };
const files = { WEIR_BUCKET: z.string().min(1) };
const web = { WEIR_BASE_URL: z.url() };

/**
 * The environment variables of each function. `infra/` types what it sets by these, so that a forgotten one fails to compile; the function
 * parses them once at cold start. `WEIR_REDIS_URL` is `rediss://host:port`, its secret holds JSON with `password`, the operator's JSON with
 * `token`, the signing secret JSON with `master`. `WEIR_QUEUE_URLS` and `WEIR_DEAD_QUEUE_URLS` are JSON objects of pool name to queue URL,
 * `WEIR_MEND_QUEUE_URL` wakes `reconcile`, `WEIR_DELIVER_QUEUE_URL` has ends told to callbacks, `WEIR_BASE_URL` is the API's URL with its stage and no slash at the end.
 */
export const settings = {
  authorize: z.object({ ...stage, WEIR_OPERATOR_SECRET_ARN: z.string().min(1) }),
  admit: z.object({ ...stage, ...gate, ...records, ...queues, ...mend, ...files, ...signing, ...web }),
  status: z.object({ ...stage, ...gate, ...records, ...signing, ...web }),
  upload: z.object({ ...stage, ...records, ...files, ...web }),
  control: z.object({
    ...stage,
    ...gate,
    ...records,
    ...queues,
    ...mend,
    ...web,
    ...deliver,
    ...signing,
    WEIR_DEAD_QUEUE_URLS: queueUrls,
  }),
  work: z.object({
    ...stage,
    ...gate,
    ...records,
    ...queues,
    ...mend,
    ...files,
    ...deliver,
    WEIR_POOL: z.string().min(1),
  }),
  reconcile: z.object({ ...stage, ...gate, ...records, ...queues, ...deliver }),
  bury: z.object({ ...stage, ...gate, ...records, ...deliver }),
  deliver: z.object({ ...stage, ...records, ...deliver, ...signing, ...web }),
};

export type FunctionName = keyof typeof settings;
/** What `infra/` sets for function `Name`, all as strings. */
export type Variables<Name extends FunctionName> = z.input<(typeof settings)[Name]>;
/** What function `Name` reads. */
export type Settings<Name extends FunctionName> = z.output<(typeof settings)[Name]>;

/** Parses the environment of function `name`; throws with each variable that is missing or wrong. */
export function readSettings<Name extends FunctionName>(
  name: Name,
  environment: Readonly<Record<string, string | undefined>>,
): Settings<Name> {
  const parsed = settings[name].safeParse(environment);
  if (parsed.success) return parsed.data as Settings<Name>;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`environment of function ${name}: ${faults.join('; ')}`);
}
