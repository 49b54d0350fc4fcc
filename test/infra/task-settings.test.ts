import { expect, test } from 'vitest';
import { Synthesized } from './synthesize.ts';

const arn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:model-AbCdEf';

test("what a task type names reaches its pool's function alone, and the one secret may be read there", () => {
  const made = new Synthesized({ variables: { WEIR_AI_MODEL: 'm', WEIR_AI_KEY_SECRET_ARN: arn, WEIR_OTHER: 'x' } });
  const variablesOf = (name: string) => made.fn(name).Properties.Environment.Variables;
  expect(variablesOf('work-ai')).toMatchObject({ WEIR_AI_MODEL: 'm', WEIR_AI_KEY_SECRET_ARN: arn });
  expect(variablesOf('work-ai')).not.toHaveProperty('WEIR_OTHER');
  expect(variablesOf('work-ai')).not.toHaveProperty('WEIR_AI_BASE_URL');
  for (const name of ['work-examples', 'admit', 'reconcile']) {
    expect(variablesOf(name)).not.toHaveProperty('WEIR_AI_MODEL');
  }
  const reads = (name: string) =>
    made.statements(name).filter(({ Action, Resource }) => `${Action}`.includes('GetSecretValue') && Resource === arn);
  expect(reads('work-ai')).toHaveLength(1);
  expect(reads('work-examples')).toEqual([]);
});
