import * as z from 'zod';
import type { Functions } from '../lambda/functions.ts';
import type { FunctionPool } from '../lambda/pool.ts';
import { StackError, unsupported } from '../stack-error.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';
import { type Authorizer, readAuthorizers } from './authorizer.ts';
import { type GatewayResponses, readGatewayResponses } from './gateway-response.ts';

export type Integration =
  | { kind: 'function'; pool: FunctionPool; timeoutMs: number }
  | { kind: 'mock'; status: number; headers: [string, string][] };

/** `authorizer` absent: open to all. */
export type Method = { integration: Integration; authorizer: Authorizer | undefined };

export type Route = { resourceId: string; resourcePath: string; methods: Map<string, Method> };

export type Api = {
  id: string;
  stage: string;
  binaryMediaTypes: string[];
  routes: Route[];
  responses: GatewayResponses;
};

const longestMs = 29_000;

const apiSchema = z.object({
  BinaryMediaTypes: z.array(z.string()).default([]),
  Body: z.undefined('an inline definition is not supported here').optional(),
});
const stageSchema = z.object({ RestApiId: z.string(), StageName: z.string() });
const resourceSchema = z.object({ RestApiId: z.string(), ParentId: z.string(), PathPart: z.string() });
const methodSchema = z.object({
  RestApiId: z.string(),
  ResourceId: z.string(),
  HttpMethod: z.string(),
  AuthorizationType: z.enum(['NONE', 'CUSTOM'], 'only NONE and CUSTOM are supported here').default('NONE'),
  AuthorizerId: z.string().optional(),
  ApiKeyRequired: z.literal(false, 'API keys are not supported here').default(false),
  Integration: z.object({
    Type: z.enum(['AWS_PROXY', 'MOCK'], 'only AWS_PROXY and MOCK integrations are supported here'),
    Uri: z.string().optional(),
    TimeoutInMillis: z.coerce.number().int().min(50).default(longestMs),
    ResponseTransferMode: z
      .literal('BUFFERED', 'streaming integrations are not supported here yet')
      .default('BUFFERED'),
    IntegrationResponses: z
      .array(z.object({ StatusCode: z.string(), ResponseParameters: z.record(z.string(), z.string()).default({}) }))
      .default([]),
  }),
});

/** Reads the template's REST APIs that have a stage. */
export function readApis(template: Template, scope: StackScope, functions: Functions): Api[] {
  const stages = resourcesOfType(template, 'AWS::ApiGateway::Stage').map(({ logicalId }) =>
    parseProperties(logicalId, stageSchema, scope.properties(logicalId)),
  );
  if (new Set(stages.map((stage) => stage.StageName)).size < stages.length) {
    throw new StackError('two stages have the same name, and here both would have the same path');
  }
  return resourcesOfType(template, 'AWS::ApiGateway::RestApi').flatMap(({ logicalId }) => {
    const properties = parseProperties(logicalId, apiSchema, scope.properties(logicalId));
    const id = scope.resolveText({ Ref: logicalId });
    const rootId = scope.resolveText({ 'Fn::GetAtt': [logicalId, 'RootResourceId'] });
    const routes = readRoutes(template, scope, functions, id, rootId);
    const responses = readGatewayResponses(template, scope, id);
    return stages
      .filter((stage) => stage.RestApiId === id)
      .map((stage) => ({
        id,
        stage: stage.StageName,
        binaryMediaTypes: properties.BinaryMediaTypes,
        routes,
        responses,
      }));
  });
}

function readRoutes(
  template: Template,
  scope: StackScope,
  functions: Functions,
  apiId: string,
  rootId: string,
): Route[] {
  const parts = new Map<string, { parent: string; part: string }>();
  for (const { logicalId } of resourcesOfType(template, 'AWS::ApiGateway::Resource')) {
    const resource = parseProperties(logicalId, resourceSchema, scope.properties(logicalId));
    if (resource.RestApiId === apiId) parts.set(logicalId, { parent: resource.ParentId, part: resource.PathPart });
  }
  const pathOf = (resourceId: string): string => {
    const here = parts.get(resourceId);
    return here === undefined ? '' : `${pathOf(here.parent)}/${here.part}`;
  };
  const authorizers = readAuthorizers(template, scope, functions, apiId);
  const routes = new Map<string, Route>();
  for (const { logicalId } of resourcesOfType(template, 'AWS::ApiGateway::Method')) {
    const method = parseProperties(logicalId, methodSchema, scope.properties(logicalId));
    if (method.RestApiId !== apiId) continue;
    if (method.ResourceId !== rootId && !parts.has(method.ResourceId))
      throw unsupported(logicalId, 'its resource is not in this stack');
    const resourcePath = pathOf(method.ResourceId) || '/';
    const route = routes.get(resourcePath) ?? { resourceId: method.ResourceId, resourcePath, methods: new Map() };
    route.methods.set(method.HttpMethod, {
      integration: readIntegration(logicalId, method.Integration, functions),
      authorizer: method.AuthorizationType === 'NONE' ? undefined : authorizerOf(logicalId, method, authorizers),
    });
    routes.set(resourcePath, route);
  }
  return [...routes.values()];
}

function authorizerOf(
  logicalId: string,
  { AuthorizerId: id }: z.output<typeof methodSchema>,
  authorizers: Map<string, Authorizer>,
): Authorizer {
  const authorizer = authorizers.get(id ?? '');
  if (authorizer === undefined) throw unsupported(logicalId, `AuthorizerId: ${id} is no authorizer of this API`);
  return authorizer;
}

function readIntegration(
  logicalId: string,
  integration: z.output<typeof methodSchema>['Integration'],
  functions: Functions,
): Integration {
  if (integration.Type === 'MOCK') {
    const [first] = integration.IntegrationResponses;
    const headers = Object.entries(first?.ResponseParameters ?? {}).map(([name, value]): [string, string] => [
      name.replace('method.response.header.', ''),
      value.replace(/^'(.*)'$/s, '$1'),
    ]);
    return { kind: 'mock', status: Number(first?.StatusCode ?? 200), headers };
  }
  const [, arn] = /:lambda:path\/2015-03-31\/functions\/(.+)\/invocations$/.exec(integration.Uri ?? '') ?? [];
  const pool = arn === undefined ? undefined : functions.find(arn);
  if (pool === undefined)
    throw unsupported(logicalId, `Integration.Uri: ${integration.Uri} is no function of this stack`);
  return { kind: 'function', pool, timeoutMs: integration.TimeoutInMillis };
}
