import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeAtomically } from '../data-folder.ts';
import { StackError } from '../stack-error.ts';
import { localMetadata } from '../template/local-metadata.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

export type Secret = { name: string; arn: string; text: string; createdAt: number };

export type Secrets = {
  find(nameOrArn: string): Secret | undefined;
  /** The value of a dynamic reference, what stands between `{{resolve:secretsmanager:` and `}}`. */
  resolve(reference: string): string;
  /** What is printed when the stack is ready: the made value, or which variable gave it. */
  shown: { description: string; value: string }[];
};

type Environment = Readonly<Record<string, string | undefined>>;

const generateSchema = z.object({
  SecretStringTemplate: z.string().optional(),
  GenerateStringKey: z.string().optional(),
  PasswordLength: z.int().min(1).max(4096).default(32),
  ExcludeCharacters: z.string().default(''),
  ExcludeLowercase: z.boolean().default(false),
  ExcludeUppercase: z.boolean().default(false),
  ExcludeNumbers: z.boolean().default(false),
  ExcludePunctuation: z.boolean().default(false),
  IncludeSpace: z.boolean().default(false),
  RequireEachIncludedType: z.boolean().default(true),
});
const secretSchema = z.object({ SecretString: z.string().optional(), GenerateSecretString: generateSchema.optional() });
const keptSchema = z.record(z.string(), z.object({ text: z.string(), createdAt: z.number() }));

/**
 * Makes the values of the template's secrets, once: they are kept in secrets.json, which only the owner can read. A value that a variable of
 * `environment` gives is written nowhere; without the variable the kept one counts again.
 */
export function openSecrets(
  template: Template,
  scope: StackScope,
  dataPath: string,
  environment: Environment = {},
): Secrets {
  const file = join(dataPath, 'secrets.json');
  const kept = readKept(file);
  const shown: Secrets['shown'] = [];
  const secrets = resourcesOfType(template, 'AWS::SecretsManager::Secret').map(({ logicalId, resource }): Secret => {
    const properties = parseProperties(logicalId, secretSchema, scope.properties(logicalId));
    const { environmentVariable, print } = localMetadata(logicalId, resource);
    const name = scope.nameOf(logicalId);
    const arn = scope.arnOf(logicalId);
    const rules = properties.GenerateSecretString;
    const given = environmentVariable === undefined ? undefined : environment[environmentVariable];
    if (rules !== undefined && environmentVariable !== undefined && given !== undefined) {
      if (given === '') throw new StackError(`${environmentVariable} is empty: give it a value, or unset it`);
      if (print !== undefined) shown.push({ description: print, value: `as ${environmentVariable} says` });
      return { name, arn, text: withGenerated(rules, given), createdAt: Date.now() };
    }
    const before = kept[name] ?? { text: rules ? generate(rules) : '{}', createdAt: Date.now() };
    kept[name] = properties.SecretString === undefined ? before : { ...before, text: properties.SecretString };
    const secret = { name, arn, ...kept[name] };
    if (print !== undefined) shown.push({ description: print, value: generatedPart(secret, rules) });
    return secret;
  });
  if (secrets.length > 0) writeAtomically(file, `${JSON.stringify(kept, null, 2)}\n`);

  const find = (nameOrArn: string) => secrets.find((secret) => secret.name === nameOrArn || secret.arn === nameOrArn);
  return {
    find,
    shown,
    resolve(reference) {
      // An ARN holds six colons of its own.
      const parts = reference.split(':');
      const id = parts.splice(0, reference.startsWith('arn:') ? 7 : 1).join(':');
      const [, key = ''] = parts;
      const secret = find(id);
      if (secret === undefined)
        throw new StackError(`the template asks for the secret ${id}, which it does not define`);
      return key === '' ? secret.text : fieldOf(secret, key);
    },
  };
}

function fieldOf(secret: Secret, key: string): string {
  const fields: unknown = JSON.parse(secret.text);
  const value = z.record(z.string(), z.unknown()).safeParse(fields).data?.[key];
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new StackError(`the secret ${secret.name} has no field ${key}`);
  return String(value);
}

function readKept(file: string): z.output<typeof keptSchema> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch {
    return {};
  }
  try {
    return keptSchema.parse(JSON.parse(content));
  } catch {
    throw new StackError(`${file} does not hold secrets any more: remove it, and the redis data beside it`);
  }
}

type Rules = z.output<typeof generateSchema>;

function generate(rules: Rules): string {
  const kinds = [
    rules.ExcludeLowercase ? '' : 'abcdefghijklmnopqrstuvwxyz',
    rules.ExcludeUppercase ? '' : 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
    rules.ExcludeNumbers ? '' : '0123456789',
    rules.ExcludePunctuation ? '' : '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    rules.IncludeSpace ? ' ' : '',
  ]
    .map((kind) => [...kind].filter((character) => !rules.ExcludeCharacters.includes(character)))
    .filter((kind) => kind.length > 0);
  const pick = (from: string[]) => from[randomInt(from.length)] ?? '';
  const characters = Array.from({ length: rules.PasswordLength }, () => pick(kinds.flat()));
  if (rules.RequireEachIncludedType) {
    // One place for each kind, all different, then drawn again from that kind.
    const places = characters.map((_, index) => index);
    for (const kind of kinds.slice(0, characters.length)) {
      const [place = 0] = places.splice(randomInt(places.length), 1);
      characters[place] = pick(kind);
    }
  }
  return withGenerated(rules, characters.join(''));
}

function withGenerated({ GenerateStringKey, SecretStringTemplate }: Rules, generated: string): string {
  if (GenerateStringKey === undefined) return generated;
  return JSON.stringify({ ...JSON.parse(SecretStringTemplate ?? '{}'), [GenerateStringKey]: generated });
}

function generatedPart(secret: Secret, rules: Rules | undefined): string {
  return rules?.GenerateStringKey === undefined ? secret.text : fieldOf(secret, rules.GenerateStringKey);
}
