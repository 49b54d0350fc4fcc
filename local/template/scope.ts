import { StackError } from '../stack-error.ts';
import { apiId, cacheHost, type Endpoints, localEndpoints, shortHash, started } from './endpoints.ts';
import { resolveValue, type Scope } from './intrinsics.ts';
import type { Template, Value } from './template.ts';

export type StackIdentity = { stackName: string; accountId: string; region: string };

export type StackScope = {
  resolve(value: Value): Value;
  resolveText(value: Value): string;
  /** The name a resource has where it runs: its own when the template gives one, else `<stack>-<logical id>`. */
  nameOf(logicalId: string): string;
  arnOf(logicalId: string): string;
  properties(logicalId: string): Value;
};

// The property that holds a resource's name, for the types whose Ref or Arn is built from it.
const nameProperties: Record<string, string> = {
  'AWS::DynamoDB::GlobalTable': 'TableName',
  'AWS::DynamoDB::Table': 'TableName',
  'AWS::SQS::Queue': 'QueueName',
  'AWS::S3::Bucket': 'BucketName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::SecretsManager::Secret': 'Name',
  'AWS::ApiGateway::Stage': 'StageName',
  'AWS::Logs::LogGroup': 'LogGroupName',
  'AWS::Scheduler::Schedule': 'Name',
};

/**
 * Gives every resource stable names, and values for Ref and GetAtt. One mechanism turns the endpoints of the deployed
 * stack into local ones, once a string is whole: the REST API's invoke URL and the cache's `rediss://` address.
 */
export function createScope(
  template: Template,
  identity: StackIdentity,
  endpoints: Endpoints,
  secretText: (reference: string) => string,
): StackScope {
  const { stackName, accountId, region } = identity;
  const pseudo: Record<string, Value> = {
    'AWS::AccountId': accountId,
    'AWS::Region': region,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': stackName,
    'AWS::StackId': `arn:aws:cloudformation:${region}:${accountId}:stack/${stackName}/local`,
    'AWS::NotificationARNs': [],
  };
  const resourceOf = (logicalId: string) => {
    const resource = template.Resources[logicalId];
    if (resource === undefined) throw new StackError(`the template refers to ${logicalId}, which it does not have`);
    return resource;
  };
  const arn = (service: string, rest: string) => `arn:aws:${service}:${region}:${accountId}:${rest}`;

  const nameOf = (logicalId: string): string => {
    const resource = resourceOf(logicalId);
    const property = nameProperties[resource.Type];
    const given = property === undefined ? undefined : resource.Properties?.[property];
    if (given !== undefined) return stack.resolveText(given);
    switch (resource.Type) {
      case 'AWS::Lambda::Function':
        return functionName(resource.Metadata?.['aws:cdk:path'], logicalId);
      case 'AWS::S3::Bucket':
        return `${stackName}-${logicalId}`.toLowerCase().slice(0, 63);
      case 'AWS::SQS::Queue':
        return `${stackName}-${logicalId}`.slice(0, 75) + (resource.Properties?.FifoQueue === true ? '.fifo' : '');
      default:
        return `${stackName}-${logicalId}`;
    }
  };

  const arnOf = (logicalId: string): string => {
    const name = nameOf(logicalId);
    switch (resourceOf(logicalId).Type) {
      case 'AWS::DynamoDB::GlobalTable':
      case 'AWS::DynamoDB::Table':
        return arn('dynamodb', `table/${name}`);
      case 'AWS::SQS::Queue':
        return arn('sqs', name);
      case 'AWS::S3::Bucket':
        return `arn:aws:s3:::${name}`;
      case 'AWS::Lambda::Function':
        return arn('lambda', `function:${name}`);
      case 'AWS::SecretsManager::Secret':
        return arn('secretsmanager', `secret:${name}-${shortHash(logicalId).slice(0, 6)}`);
      case 'AWS::Logs::LogGroup':
        return arn('logs', `log-group:${name}:*`);
      default:
        return `arn:aws:${serviceOf(resourceOf(logicalId).Type)}:${region}:${accountId}:${logicalId}`;
    }
  };

  const ref = (name: string): Value => {
    const known = pseudo[name] ?? template.Parameters?.[name]?.Default;
    if (known !== undefined) return known;
    const resource = resourceOf(name);
    switch (resource.Type) {
      case 'AWS::SQS::Queue':
        return `http://127.0.0.1:${started(endpoints.sqs, name)}/${accountId}/${nameOf(name)}`;
      case 'AWS::ApiGateway::RestApi':
        return apiId(name);
      case 'AWS::ElastiCache::ReplicationGroup':
        return name.toLowerCase();
      case 'AWS::SecretsManager::Secret':
        return arnOf(name);
      case 'AWS::SecretsManager::SecretTargetAttachment':
        return stack.resolve(resource.Properties?.SecretId ?? name);
      case 'AWS::Lambda::Version':
        return `${stack.resolveText(resource.Properties?.FunctionName ?? name)}:1`;
      case 'AWS::Lambda::Alias':
        return `${stack.resolveText(resource.Properties?.FunctionName ?? name)}:${stack.resolveText(resource.Properties?.Name ?? 'live')}`;
      default:
        return nameProperties[resource.Type] === undefined ? name : nameOf(name);
    }
  };

  const getAtt = (logicalId: string, attribute: string): Value => {
    const { Type: type } = resourceOf(logicalId);
    if (type === 'AWS::ElastiCache::ReplicationGroup') {
      return attribute.endsWith('.Port') ? String(started(endpoints.redis, logicalId)) : cacheHost(logicalId);
    }
    if (type === 'AWS::SQS::Queue' && attribute === 'QueueName') return nameOf(logicalId);
    if (type === 'AWS::SQS::Queue' && attribute === 'QueueUrl') return ref(logicalId);
    if (type === 'AWS::SecretsManager::Secret' && attribute === 'Id') return arnOf(logicalId);
    if (attribute === 'Arn') return arnOf(logicalId);
    return `${logicalId}.${attribute}`;
  };

  const text = localEndpoints(template, region, endpoints, secretText);
  const scope: Scope = { ref, getAtt, text };
  const stack: StackScope = {
    resolve: (value) => resolveValue(value, scope),
    resolveText: (value) => {
      const resolved = resolveValue(value, scope);
      if (typeof resolved === 'string') return resolved;
      throw new StackError(`expected text, got ${JSON.stringify(resolved)}`);
    },
    nameOf,
    arnOf,
    properties: (logicalId) => resolveProperties(logicalId),
  };
  const resolveProperties = (logicalId: string): Value => {
    try {
      return resolveValue(resourceOf(logicalId).Properties ?? {}, scope);
    } catch (error) {
      if (error instanceof StackError && !error.message.startsWith(logicalId)) {
        throw new StackError(`${logicalId}: ${error.message}`);
      }
      throw error;
    }
  };
  return stack;
}

// `Stack/Concern/Admit/Resource` is shown as `Concern-Admit`.
function functionName(path: Value | undefined, logicalId: string): string {
  if (typeof path !== 'string') return logicalId;
  const parts = path.split('/').slice(1);
  if (parts.at(-1) === 'Resource') parts.pop();
  const name = parts.join('-').replaceAll(/[^A-Za-z0-9_-]/g, '-');
  return name === '' || name.length > 64 ? logicalId.slice(0, 64) : name;
}

function serviceOf(type: string): string {
  return (type.split('::')[1] ?? 'local').toLowerCase();
}
