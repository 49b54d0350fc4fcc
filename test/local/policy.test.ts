import { expect, test } from 'vitest';
import { judge, policySchema } from '../../local/gateway/policy.ts';

const arn = 'arn:aws:execute-api:us-east-1:000000000000:abc/live/GET/things/1';
const statement = (over: object = {}) => ({ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: arn, ...over });

const rows: [string, object | object[], 'allowed' | 'denied'][] = [
  ['the method itself', statement(), 'allowed'],
  ['the whole stage', statement({ Resource: 'arn:aws:execute-api:us-east-1:000000000000:abc/live/*' }), 'allowed'],
  ['everything', statement({ Action: '*', Resource: '*' }), 'allowed'],
  ['another case of the action', statement({ Action: 'Execute-API:invoke' }), 'allowed'],
  ['every action of the service', statement({ Action: ['s3:GetObject', 'execute-api:*'] }), 'allowed'],
  ['one of several resources', statement({ Resource: ['x', arn] }), 'allowed'],
  ['one character for any', statement({ Resource: arn.replace('/1', '/?') }), 'allowed'],
  ['a deny beside an allow', [statement(), statement({ Effect: 'Deny', Resource: '*' })], 'denied'],
  ['a deny of another method', [statement(), statement({ Effect: 'Deny', Resource: `${arn}/x` })], 'allowed'],
  ['another stage', statement({ Resource: 'arn:aws:execute-api:us-east-1:000000000000:abc/test/*' }), 'denied'],
  ['a prefix without a wildcard', statement({ Resource: arn.slice(0, -1) }), 'denied'],
  ['a dot, which is no wildcard', statement({ Resource: arn.replace('things', 'thing.') }), 'denied'],
  ['another action', statement({ Action: 'execute-api:Manage' }), 'denied'],
  ['no statement', [], 'denied'],
];
test.each(rows)('%s', (_, Statement, expected) => {
  expect(judge(policySchema.parse({ Version: '2012-10-17', Statement }), arn)).toBe(expected);
});

test.each(['Condition', 'NotAction', 'NotResource'])('%s is not understood, so nothing is allowed by it', (key) => {
  expect(policySchema.safeParse({ Statement: statement({ [key]: {} }) }).success).toBe(false);
});
