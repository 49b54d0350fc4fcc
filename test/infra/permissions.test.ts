import { describe, expect, test } from 'vitest';
import { Synthesized } from './synthesize.ts';

const made = new Synthesized();
const change = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];

describe('each function does on the table what it is for', () => {
  test.each([
    ['admit', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']],
    ['status', ['dynamodb:GetItem']],
    ['control', ['dynamodb:GetItem', 'dynamodb:PutItem']],
    ['authorize', []],
    ['work-conversions', change],
    ['reconcile', [...change, 'dynamodb:PutItem', 'dynamodb:Query'].sort()],
  ])('%s: %j', (name, actions) => {
    expect(made.actions(name, 'dynamodb')).toEqual(actions);
  });
});

describe('each function does on files what it is for', () => {
  test.each([
    ['admit', ['s3:DeleteObject', 's3:PutObject']],
    ['work-conversions', ['s3:GetObject']],
    ['status', []],
    ['reconcile', []],
  ])('%s: %j', (name, actions) => {
    expect(made.actions(name, 's3')).toEqual(actions);
  });
});

test('only reconcile queries an index, that of open tasks', () => {
  const query = made.statements('reconcile').find(({ Action }) => Action === 'dynamodb:Query');
  expect(JSON.stringify(query?.Resource)).toContain('/index/open"');
  for (const name of ['admit', 'status', 'control', 'work-examples', 'authorize'])
    expect(JSON.stringify(made.statements(name))).not.toContain('/index/');
});

test('authorize reads the operator’s secret and does nothing else', () => {
  const [secret] = made
    .all('AWS::SecretsManager::Secret')
    .find(([, { Properties }]) => Properties.Name === 'weir-main-operator') ?? [''];
  expect(made.statements('authorize')).toEqual([
    { Action: 'secretsmanager:GetSecretValue', Effect: 'Allow', Resource: { Ref: secret } },
  ]);
  for (const name of ['admit', 'status', 'control', 'work-examples', 'reconcile'])
    expect(JSON.stringify(made.statements(name))).not.toContain(`"Ref":"${secret}"`);
});

test('admit and the workers wake reconcile, and nobody else does', () => {
  const mend = made.all('AWS::SQS::Queue').find(([, { Properties }]) => Properties.QueueName === 'weir-main-mend')?.[0];
  const senders = ['admit', 'authorize', 'control', 'reconcile', 'status', 'work-conversions', 'work-examples'].filter(
    (name) =>
      made
        .statements(name)
        .some(
          ({ Action, Resource }) =>
            [Action].flat().includes('sqs:SendMessage') && JSON.stringify(Resource).includes(`"${mend}"`),
        ),
  );
  expect(senders).toEqual(['admit', 'work-conversions', 'work-examples']);
});

test('no statement allows every action or every resource', () => {
  for (const [, { Properties }] of made.all('AWS::IAM::Policy')) {
    for (const { Action, Resource } of Properties.PolicyDocument?.Statement ?? []) {
      expect([Action].flat().filter((action) => String(action).includes('*'))).toEqual([]);
      expect([Resource].flat()).not.toContain('*');
    }
  }
});

test('a worker receives from its own queue only', () => {
  const receive = made
    .statements('work-examples')
    .filter(({ Action }) => [Action].flat().includes('sqs:ReceiveMessage'));
  expect(receive).toHaveLength(1);
  expect(JSON.stringify(receive)).toContain('sqs:ChangeMessageVisibility');
  expect(JSON.stringify(receive)).not.toContain('conversions');
});
