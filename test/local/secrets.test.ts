import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSecrets } from '../../local/services/secrets.ts';
import { createScope } from '../../local/template/scope.ts';
import type { Template, Value } from '../../local/template/template.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const identity = { stackName: 'S', accountId: '000000000000', region: 'us-east-1' };
const local = { environmentVariable: 'TOKEN', print: 'Token' };

function open(environment: Record<string, string>, generate: { [key: string]: Value } = {}) {
  const rules = { SecretStringTemplate: '{"user":"app"}', GenerateStringKey: 'token', ...generate };
  const template: Template = {
    Resources: {
      T: { Type: 'AWS::SecretsManager::Secret', Properties: { GenerateSecretString: rules }, Metadata: { local } },
      Other: { Type: 'AWS::SecretsManager::Secret', Properties: { GenerateSecretString: {} } },
    },
  };
  const scope = createScope(template, identity, {}, () => '');
  return openSecrets(template, scope, folder, environment);
}
const textOf = (secrets: ReturnType<typeof open>) => secrets.find('S-T')?.text ?? '';

test('without the variable a value is made, kept and shown', () => {
  const first = open({});
  const { user, token } = JSON.parse(textOf(first));
  expect(user).toBe('app');
  expect(token).toHaveLength(32);
  expect(first.shown).toEqual([{ description: 'Token', value: token }]);
  expect(open({}).shown).toEqual(first.shown);
});

test('the variable’s value takes its place in memory alone, and is not shown', () => {
  const made = textOf(open({}));
  const given = open({ TOKEN: 'by hand "quoted"' });
  expect(JSON.parse(textOf(given))).toEqual({ user: 'app', token: 'by hand "quoted"' });
  expect(given.shown).toEqual([{ description: 'Token', value: 'as TOKEN says' }]);
  expect(readFileSync(join(folder, 'secrets.json'), 'utf8')).not.toContain('by hand');
  expect(textOf(open({}))).toBe(made);
});

test('an empty variable is no value', () => {
  expect(() => open({ TOKEN: '' })).toThrow('TOKEN is empty');
});
