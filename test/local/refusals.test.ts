import { expect, test } from 'vitest';
import { defineMappings } from '../../local/events/queue-mapping.ts';
import { defineSchedules } from '../../local/events/schedule.ts';
import { readApis } from '../../local/gateway/api.ts';
import { defineFunctions } from '../../local/lambda/definition.ts';
import { createFunctions, type Functions } from '../../local/lambda/functions.ts';
import { createScope } from '../../local/template/scope.ts';
import type { Resource, Template, Value } from '../../local/template/template.ts';

const identity = { stackName: 'S', accountId: '000000000000', region: 'us-east-1' };

// Reads everything a template asks for, as a start does, without starting anything.
function read(resources: { [logicalId: string]: Resource }): void {
  const template: Template = { Resources: resources };
  const scope = createScope(template, identity, { http: 'http://127.0.0.1:1', redis: 2, sqs: 3 }, () => 'secret');
  const definitions = defineFunctions(template, scope, () => '/code', identity, {});
  const functions: Functions = createFunctions(definitions, { logsFolder: '/logs', log: () => {}, onChange: () => {} });
  readApis(template, scope, functions);
  const queues = [{ logicalId: 'Q', name: 'S-Q', arn: scope.arnOf('Q'), url: 'http://127.0.0.1:3/0/S-Q' }];
  defineMappings(template, scope, queues, functions);
  defineSchedules(template, scope, functions, identity);
}

const fn = (extra: { [key: string]: Value } = {}): Resource => ({
  Type: 'AWS::Lambda::Function',
  Properties: { Code: { S3Key: 'k' }, Handler: 'index.handler', Runtime: 'nodejs24.x', ...extra },
});
const uri = (path: string): Value => ({ 'Fn::Join': ['', ['arn:aws:apigateway:us-east-1:lambda:path/', path]] });
const method = (extra: { [key: string]: Value }, integration: { [key: string]: Value } = {}): Resource => ({
  Type: 'AWS::ApiGateway::Method',
  Properties: {
    RestApiId: { Ref: 'Api' },
    ResourceId: { 'Fn::GetAtt': ['Api', 'RootResourceId'] },
    HttpMethod: 'GET',
    Integration: {
      Type: 'AWS_PROXY',
      Uri: uri('2015-03-31/functions/arn:aws:lambda:us-east-1:000000000000:function:F/invocations'),
      ...integration,
    },
    ...extra,
  },
});
const base: { [logicalId: string]: Resource } = {
  Q: { Type: 'AWS::SQS::Queue' },
  F: fn(),
  Api: { Type: 'AWS::ApiGateway::RestApi', Properties: {} },
  Stage: { Type: 'AWS::ApiGateway::Stage', Properties: { RestApiId: { Ref: 'Api' }, StageName: 'api' } },
};
const mapping = (extra: { [key: string]: Value }): Resource => ({
  Type: 'AWS::Lambda::EventSourceMapping',
  Properties: { EventSourceArn: { 'Fn::GetAtt': ['Q', 'Arn'] }, FunctionName: { Ref: 'F' }, ...extra },
});
const authorizer = (extra: { [key: string]: Value }): Resource => ({
  Type: 'AWS::ApiGateway::Authorizer',
  Properties: {
    RestApiId: { Ref: 'Api' },
    Type: 'REQUEST',
    AuthorizerUri: uri('2015-03-31/functions/arn:aws:lambda:us-east-1:000000000000:function:F/invocations'),
    IdentitySource: 'method.request.header.Authorization',
    ...extra,
  },
});
const schedule = (expression: string): Resource => ({
  Type: 'AWS::Scheduler::Schedule',
  Properties: { ScheduleExpression: expression, Target: { Arn: { 'Fn::GetAtt': ['F', 'Arn'] } } },
});

test('a template with all that is supported is read', () => {
  const guarded = method({ AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'A' }, HttpMethod: 'PUT' });
  read({
    ...base,
    A: authorizer({}),
    W: guarded,
    X: method({}),
    Y: mapping({ BatchSize: 5 }),
    Z: schedule('rate(5 minutes)'),
  });
});

const rows: [string, Resource, RegExp][] = [
  [
    'a streaming integration',
    method({}, { ResponseTransferMode: 'STREAM' }),
    /^X: Integration.ResponseTransferMode: .*streaming/,
  ],
  ['authorization by IAM', method({ AuthorizationType: 'AWS_IAM' }), /^X: AuthorizationType: only NONE and CUSTOM/],
  [
    'an authorizer elsewhere',
    method({ AuthorizationType: 'CUSTOM', AuthorizerId: 'other' }),
    /^X: AuthorizerId: other is no authorizer/,
  ],
  ['an authorizer of another type', authorizer({ Type: 'TOKEN' }), /^X: Type: only REQUEST/],
  ['an authorizer’s function elsewhere', authorizer({ AuthorizerUri: 'x' }), /^X: AuthorizerUri: x is no function/],
  [
    'an identity source that is no header and no query parameter',
    authorizer({ IdentitySource: 'method.request.header.A, stageVariables.B' }),
    /^X: IdentitySource: stageVariables.B/,
  ],
  ['kept results without an identity source', authorizer({ IdentitySource: '' }), /^X: IdentitySource: needed/],
  ['an unknown wish', { ...fn(), Metadata: { local: { color: 'red' } } }, /^X: Metadata.local: /],
  ['an API key', method({ ApiKeyRequired: true }), /^X: ApiKeyRequired: /],
  ['another integration', method({}, { Type: 'HTTP_PROXY' }), /^X: Integration.Type: /],
  ['a function elsewhere', method({}, { Uri: uri('2015-03-31/functions/other/invocations') }), /^X: Integration.Uri: /],
  ['another runtime', fn({ Runtime: 'python3.13' }), /^X: Runtime: .*Node\.js/],
  ['inline code', fn({ Code: { ZipFile: 'x' } }), /^X: Code/],
  ['layers', fn({ Layers: ['x'] }), /^X: Layers: /],
  ['a filter', mapping({ FilterCriteria: {} }), /^X: FilterCriteria: /],
  ['another source', mapping({ EventSourceArn: 'arn:aws:kinesis:x' }), /^X: EventSourceArn: /],
  [
    'a concurrency of one',
    mapping({ ScalingConfig: { MaximumConcurrency: 1 } }),
    /^X: ScalingConfig.MaximumConcurrency: /,
  ],
  ['a cron expression', schedule('cron(0 0 * * ? *)'), /^X: ScheduleExpression: /],
  ['an unknown function call', schedule('x'), /^X: /],
];
test.each(rows)('%s is refused by the name of the resource and the property', (_, resource, message) => {
  expect(() => read({ ...base, X: resource })).toThrow(message);
});

test('one mechanism makes deployed endpoints local, in a string of any build', () => {
  const template: Template = {
    Resources: {
      Api: { Type: 'AWS::ApiGateway::RestApi' },
      Cache: { Type: 'AWS::ElastiCache::ReplicationGroup' },
      Queue: { Type: 'AWS::SQS::Queue' },
    },
  };
  const scope = createScope(
    template,
    identity,
    { http: 'http://127.0.0.1:1', redis: 2, sqs: 3 },
    (reference) => `<${reference}>`,
  );
  const join = (...parts: Value[]) => scope.resolve({ 'Fn::Join': ['', parts] });
  const address = { 'Fn::GetAtt': ['Cache', 'ConfigurationEndPoint.Address'] };
  const port = { 'Fn::GetAtt': ['Cache', 'ConfigurationEndPoint.Port'] };
  expect(
    join(
      'https://',
      { Ref: 'Api' },
      '.execute-api.',
      { Ref: 'AWS::Region' },
      '.',
      { Ref: 'AWS::URLSuffix' },
      '/api/v1',
    ),
  ).toBe('http://127.0.0.1:1/api/v1');
  expect(join('rediss://', address, ':', port)).toBe('redis://127.0.0.1:2');
  expect(join('rediss://user:pass@', address, ':', port)).toBe('redis://user:pass@127.0.0.1:2');
  expect(join(address)).toBe('127.0.0.1');
  expect(scope.resolve({ Ref: 'Queue' })).toBe('http://127.0.0.1:3/000000000000/S-Queue');
  expect(join('a{{resolve:secretsmanager:name:SecretString:key::}}b')).toBe('a<name:SecretString:key::>b');
});
