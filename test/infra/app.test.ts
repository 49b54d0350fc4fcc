import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readStage } from '../../infra/stage.ts';
import { checkConfig } from '../../lib/config.ts';
import shipped from '../../weir.config.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const weir = checkConfig(shipped);

test('a wrong config ends synth with its message and nothing else', () => {
  const env = { ...process.env, WEIR_IP_IN_SYSTEM: 'many' };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['infra/app.ts'], {
    cwd: project,
    env,
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: 'weir.config.ts cannot be used:\n  WEIR_IP_IN_SYSTEM: expected a whole number, got "many"\n',
  });
});

test('the stage is main unless a variable names another', () => {
  expect(readStage(weir, {})).toBe('main');
  expect(readStage(weir, { WEIR_STAGE: 'pr-7' })).toBe('pr-7');
});

test.each(['', 'Main', 'a b', 'x'.repeat(33)])('refuses the stage %j', (stage) => {
  expect(() => readStage(weir, { WEIR_STAGE: stage })).toThrow(/WEIR_STAGE: expected 1 to 32 of a-z, 0-9 and -, got/);
});

test('a stage leaves room for the names of the pools', () => {
  const pools = { ['p'.repeat(32)]: Object.values(weir.pools)[0] } as typeof weir.pools;
  expect(() => readStage({ ...weir, pools }, { WEIR_STAGE: 'x'.repeat(22) })).toThrow(/1 to 21 of/);
});

test('what synth reads is watched, and only that: the local stack synthesizes again when it changes', () => {
  const { watch } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  for (const folder of ['lib', 'functions', 'tasks', 'infra', 'lua']) expect(watch.include).toContain(`${folder}/**`);
  expect(watch.include).toEqual(
    expect.arrayContaining(['weir.config.ts', 'package.json', 'package-lock.json', 'cdk.json', 'tsconfig.json']),
  );
  expect(watch.exclude).toEqual(['test/**', 'docs/**', 'local/**']);
});
