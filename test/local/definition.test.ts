import { expect, test } from 'vitest';
import { defineFunctions } from '../../local/lambda/definition.ts';
import { createScope } from '../../local/template/scope.ts';
import type { Value } from '../../local/template/template.ts';

const identity = { stackName: 'S', accountId: '000000000000', region: 'us-east-1' };

function instancesOf(
  properties: { [key: string]: Value },
  metadata: { [key: string]: Value } = {},
): number | undefined {
  const template = {
    Resources: {
      F: {
        Type: 'AWS::Lambda::Function',
        Properties: { Code: { S3Key: 'k' }, Handler: 'index.handler', Runtime: 'nodejs24.x', ...properties },
        Metadata: metadata,
      },
    },
  };
  const scope = createScope(template, identity, {}, () => '');
  return defineFunctions(template, scope, () => '/code', identity, {})[0]?.maxInstances;
}

test.each<[string, { [key: string]: Value }, { [key: string]: Value }, number]>([
  ['the usual number', {}, {}, 8],
  ['its reserved concurrency', { ReservedConcurrentExecutions: 3 }, {}, 3],
  ['what its metadata asks', {}, { local: { instances: 12 } }, 12],
  [
    'what its metadata asks, before its reserved concurrency',
    { ReservedConcurrentExecutions: 3 },
    { local: { instances: 12 } },
    12,
  ],
  ['no more than this machine carries', { ReservedConcurrentExecutions: 200 }, {}, 20],
])('a function has %s as most instances', (_, properties, metadata, most) => {
  expect(instancesOf(properties, metadata)).toBe(most);
});
