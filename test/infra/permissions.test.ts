import { describe, expect, test } from 'vitest';
import { Synthesized } from './synthesize.ts';

const made = new Synthesized();
const change = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];
const functions = made
  .all('AWS::Lambda::Function')
  .map(([, { Properties }]) => String(Properties.FunctionName))
  .filter((name) => name.startsWith('weir-main-'))
  .map((name) => name.slice('weir-main-'.length))
  .sort();

/** Those whose statements allow `action` on the resource with this logical id. */
function allowed(action: string, id: string): string[] {
  return functions.filter((name) =>
    made
      .statements(name)
      .some(({ Action, Resource }) => [Action].flat().includes(action) && JSON.stringify(Resource).includes(`"${id}"`)),
  );
}

function queueId(name: string): string {
  return made.all('AWS::SQS::Queue').find(([, { Properties }]) => Properties.QueueName === name)?.[0] ?? '';
}

function secretId(name: string): string {
  return made.all('AWS::SecretsManager::Secret').find(([, { Properties }]) => Properties.Name === name)?.[0] ?? '';
}

describe('each function does on the table what it is for', () => {
  test.each([
    ['admit', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']],
    ['status', ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query']],
    ['control', [...change, 'dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:Query'].sort()],
    ['authorize', []],
    ['work-conversions', change],
    ['deliver', change],
    ['upload', ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:PutItem']],
    ['bury', [...change, 'dynamodb:PutItem'].sort()],
    ['reconcile', [...change, 'dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:Query'].sort()],
  ])('%s: %j', (name, actions) => {
    expect(made.actions(name, 'dynamodb')).toEqual(actions);
  });
});

describe('each function does on files what it is for', () => {
  const all = { inputs: [], quarantine: [], results: [] };
  test.each([
    ['admit', { ...all, inputs: ['DeleteObject', 'PutObject'], quarantine: ['GetObject', 'PutObjectTagging'] }],
    [
      'upload',
      { ...all, quarantine: ['DeleteObject', 'GetObject', 'PutObject', 'PutObjectTagging'], results: ['GetObject'] },
    ],
    ['work-conversions', { inputs: ['GetObject'], quarantine: ['GetObject'], results: ['PutObject'] }],
    ['status', all],
    ['reconcile', all],
    ['control', all],
    ['deliver', all],
  ])('%s: %j', (name, expected) => {
    const s3 = made.statements(name).filter(({ Action }) => [Action].flat().some((action) => action.startsWith('s3:')));
    const on = (place: string) =>
      s3
        .filter(({ Resource }) => JSON.stringify(Resource).includes(`"/${place}/*"`))
        .flatMap(({ Action }) => [Action].flat().map((action) => action.slice('s3:'.length)))
        .sort();
    expect({ inputs: on('inputs'), quarantine: on('quarantine'), results: on('results') }).toEqual(expected);
    const everywhere = s3.flatMap(({ Action, Resource }) => [Action].flat().flatMap(() => [Resource].flat()));
    expect(everywhere).toHaveLength(Object.values(expected).flat().length);
  });
});

/** An index by itself, or all of them at once. */
function mentions(resource: unknown, index: string): boolean {
  const text = JSON.stringify(resource);
  return text.includes(`/index/${index}"`) || text.includes('/index/*"');
}

test.each([
  ['open', ['reconcile']],
  ['dead', ['control', 'reconcile']],
  ['own', ['status']],
])('index %s is queried by %j, and by nobody else', (index, names) => {
  const reaches = (name: string) => made.statements(name).filter(({ Resource }) => mentions(Resource, index));
  expect(functions.filter((name) => reaches(name).length > 0)).toEqual(names);
  for (const name of names) expect(reaches(name).map(({ Action }) => Action)).toEqual(['dynamodb:Query']);
});

test('authorize reads the operator’s secret and does nothing else', () => {
  const secret = secretId('weir-main-operator');
  expect(made.statements('authorize')).toEqual([
    { Action: 'secretsmanager:GetSecretValue', Effect: 'Allow', Resource: { Ref: secret } },
  ]);
  expect(allowed('secretsmanager:GetSecretValue', secret)).toEqual(['authorize']);
});

test('what webhooks and cursors are signed with is read by those who sign or check, and by nobody else', () => {
  const readers = ['admit', 'control', 'deliver', 'status'];
  expect(allowed('secretsmanager:GetSecretValue', secretId('weir-main-signing'))).toEqual(readers);
});

test('admit, control and the workers wake reconcile, and nobody else does', () => {
  const senders = ['admit', 'control', 'work-ai', 'work-conversions', 'work-examples'];
  expect(allowed('sqs:SendMessage', queueId('weir-main-mend'))).toEqual(senders);
});

test('whoever ends tasks has their callbacks told, and deliver alone takes those messages', () => {
  const queue = queueId('weir-main-deliver');
  const senders = ['bury', 'control', 'reconcile', 'work-ai', 'work-conversions', 'work-examples'];
  expect(allowed('sqs:SendMessage', queue)).toEqual(senders);
  for (const action of ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility'])
    expect(allowed(action, queue)).toEqual(['deliver']);
});

test('deliver, which calls strangers, does nothing but that: its record, its queue, its secret', () => {
  const services = made.statements('deliver').flatMap(({ Action }) => Action);
  expect(new Set(services.map((action) => action.split(':')[0]))).toEqual(
    new Set(['dynamodb', 'sqs', 'secretsmanager']),
  );
  expect(made.actions('deliver', 'sqs')).not.toContain('sqs:SendMessage');
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
