import { expect, test } from 'vitest';
import { type Resource, Synthesized } from './synthesize.ts';

const made = new Synthesized();
const resources = made.template.findResources('AWS::ApiGateway::Resource') as Record<string, Resource>;

function pathOf(id: string | undefined): string {
  const at = id === undefined ? undefined : resources[id];
  return at === undefined ? '' : `${pathOf(at.Properties.ParentId?.Ref)}/${at.Properties.PathPart}`;
}

test('serves the routes of the design, each from the function that is for it', () => {
  const ids = new Map(
    made.all('AWS::Lambda::Function').map(([id, { Properties }]) => [id, String(Properties.FunctionName)]),
  );
  const routes = made.all('AWS::ApiGateway::Method').map(([, { Properties }]) => {
    const uri = JSON.stringify(Properties.Integration?.Uri);
    const [, name] = [...ids].find(([id]) => uri.includes(`"${id}"`)) ?? [];
    return `${Properties.HttpMethod} ${pathOf(Properties.ResourceId?.Ref)} ${name}`;
  });
  expect(routes.sort()).toEqual([
    'DELETE /v1/operator/dead-letters/redrive weir-main-control',
    'DELETE /v1/tasks/{id} weir-main-control',
    'DELETE /v1/uploads/{id} weir-main-upload',
    'GET /health weir-main-control',
    'GET /v1/operator/dead-letters weir-main-control',
    'GET /v1/operator/dead-letters/redrive weir-main-control',
    'GET /v1/operator/hook-secret weir-main-control',
    'GET /v1/operator/limits weir-main-control',
    'GET /v1/operator/slots weir-main-control',
    'GET /v1/operator/webhook-secret weir-main-control',
    'GET /v1/queue/status weir-main-control',
    'GET /v1/tasks weir-main-status',
    'GET /v1/tasks/{id} weir-main-status',
    'GET /v1/tasks/{id}/result weir-main-upload',
    'GET /v1/uploads/{id} weir-main-upload',
    'PATCH /v1/operator/limits weir-main-control',
    'POST /v1/hooks/{source} weir-main-admit',
    'POST /v1/operator/dead-letters/redrive weir-main-control',
    'POST /v1/operator/pools/{pool}/pause weir-main-control',
    'POST /v1/operator/pools/{pool}/resume weir-main-control',
    'POST /v1/uploads weir-main-upload',
    'POST /v1/{group}/{name}/tasks weir-main-admit',
    'PUT /v1/operator/limits weir-main-control',
  ]);
});

test('every operator route needs a credential, and no other route does', () => {
  const [authorizerId] = made.all('AWS::ApiGateway::Authorizer')[0] ?? [];
  for (const [, { Properties }] of made.all('AWS::ApiGateway::Method')) {
    const guarded = pathOf(Properties.ResourceId?.Ref).startsWith('/v1/operator/');
    const { AuthorizationType, AuthorizerId } = Properties;
    expect({ AuthorizationType, AuthorizerId }).toEqual(
      guarded
        ? { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: authorizerId } }
        : { AuthorizationType: 'NONE', AuthorizerId: undefined },
    );
  }
});

test('the authorizer is asked once a minute for one credential, and not without one', () => {
  expect(made.only('AWS::ApiGateway::Authorizer').Properties).toMatchObject({
    Type: 'REQUEST',
    IdentitySource: 'method.request.header.Authorization',
    AuthorizerResultTtlInSeconds: 60,
  });
});

test('a missing or wrong credential is told how to come back with one', () => {
  const responses = made.all('AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => Properties);
  const of = (type: string) => responses.find(({ ResponseType }) => ResponseType === type);
  const unauthorized = of('UNAUTHORIZED');
  expect(unauthorized.StatusCode).toBe('401');
  expect(unauthorized.ResponseParameters['gatewayresponse.header.WWW-Authenticate']).toBe("'Bearer'");
  expect(JSON.parse(unauthorized.ResponseTemplates['application/json'])).toMatchObject({ code: 'unauthorized' });
  expect(of('ACCESS_DENIED').StatusCode).toBe('403');
  expect(JSON.parse(of('ACCESS_DENIED').ResponseTemplates['application/json'])).toMatchObject({ code: 'forbidden' });
});

test('is regional, in a stage named api, and takes multipart bodies as bytes', () => {
  expect(made.only('AWS::ApiGateway::Stage').Properties.StageName).toBe('api');
  expect(made.only('AWS::ApiGateway::RestApi').Properties).toMatchObject({
    EndpointConfiguration: { Types: ['REGIONAL'] },
    BinaryMediaTypes: ['multipart/form-data'],
  });
});

test.each(made.all('AWS::ApiGateway::GatewayResponse'))('%s is a problem', (_, { Properties }) => {
  expect(Properties.ResponseParameters?.['gatewayresponse.header.Content-Type']).toBe("'application/problem+json'");
  const problem = JSON.parse(Properties.ResponseTemplates?.['application/json'] ?? '');
  expect(problem).toMatchObject({
    type: 'about:blank',
    title: expect.any(String),
    code: expect.any(String),
    detail: expect.any(String),
  });
  expect(problem.status?.toString()).toBe(Properties.StatusCode);
});

test('an unknown route is 404 and a body over the limit is 413', () => {
  const codes = Object.fromEntries(
    made
      .all('AWS::ApiGateway::GatewayResponse')
      .map(([, { Properties }]) => [Properties.ResponseType, Properties.StatusCode]),
  );
  expect(codes).toMatchObject({
    MISSING_AUTHENTICATION_TOKEN: '404',
    REQUEST_TOO_LARGE: '413',
    THROTTLED: '429',
    INTEGRATION_TIMEOUT: '504',
    DEFAULT_5XX: undefined,
  });
});

test('the outputs are lines to copy, with the URL in them', () => {
  const outputs = Object.values(
    made.template.toJSON().Outputs as Record<string, { Description?: string; Value: unknown }>,
  );
  expect(outputs.every(({ Description }) => Description !== undefined)).toBe(true);
  const lines = outputs.map(({ Value }) => JSON.stringify(Value));
  expect(lines.filter((line) => line.includes('curl ')).length).toBeGreaterThanOrEqual(4);
  const operators = lines.filter((line) => line.includes('/operator/'));
  expect(operators.length).toBeGreaterThanOrEqual(3);
  expect(operators.every((line) => line.includes('Bearer $WEIR_OPERATOR_TOKEN'))).toBe(true);
  expect(lines.every((line) => line.includes('.execute-api.') && line.includes('/api/v1'))).toBe(true);
});
