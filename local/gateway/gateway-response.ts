import * as z from 'zod';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

/** The answers the gateway makes by itself, by the vendor's names. */
export type ResponseType = keyof typeof defaults;

/** Values for `$context.…` in a template. */
export type ResponseContext = Record<string, string>;

export type GatewayAnswer = { status: number; headers: [string, string][]; body: Buffer };

export type GatewayResponses = (type: ResponseType, context: ResponseContext) => GatewayAnswer;

const defaults = {
  UNAUTHORIZED: { status: 401, message: 'Unauthorized' },
  ACCESS_DENIED: { status: 403, message: 'User is not authorized to access this resource' },
  AUTHORIZER_CONFIGURATION_ERROR: { status: 500, message: null },
  MISSING_AUTHENTICATION_TOKEN: { status: 403, message: 'Missing Authentication Token' },
  REQUEST_TOO_LARGE: { status: 413, message: 'Request Too Long' },
  INTEGRATION_TIMEOUT: { status: 504, message: 'Endpoint request timed out' },
  DEFAULT_5XX: { status: 502, message: 'Internal server error' },
};
const plainTemplate = '{"message":$context.error.messageString}';

const responseSchema = z.object({
  RestApiId: z.string(),
  ResponseType: z.string(),
  StatusCode: z.coerce.number().int().optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).default({}),
});
type Customized = z.output<typeof responseSchema>;

/** Reads the template's gateway responses. A type without one of its own takes DEFAULT_4XX's or DEFAULT_5XX's, and keeps its status. */
export function readGatewayResponses(template: Template, scope: StackScope, apiId: string): GatewayResponses {
  const customized = new Map<string, Customized>();
  for (const { logicalId } of resourcesOfType(template, 'AWS::ApiGateway::GatewayResponse')) {
    const response = parseProperties(logicalId, responseSchema, scope.properties(logicalId));
    if (response.RestApiId === apiId) customized.set(response.ResponseType, response);
  }
  return (type, context) => {
    const { status, message } = defaults[type];
    const own = customized.get(type) ?? customized.get(status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX');
    const [contentType, template] = Object.entries(own?.ResponseTemplates ?? {})[0] ?? [
      'application/json',
      plainTemplate,
    ];
    const variables = {
      ...context,
      'error.message': message ?? '',
      'error.messageString': JSON.stringify(message),
      'error.responseType': type,
    };
    const given = Object.entries(own?.ResponseParameters ?? {}).map(([name, value]): [string, string] => [
      name.replace('gatewayresponse.header.', ''),
      headerValue(value, variables),
    ]);
    const isGiven = (name: string) => given.some(([other]) => other.toLowerCase() === name.toLowerCase());
    const usual = [
      ['Content-Type', contentType],
      ['x-amzn-ErrorType', errorTypes[type]],
    ] satisfies [string, string][];
    return {
      status: own?.StatusCode ?? status,
      headers: [...usual.filter(([name]) => !isGiven(name)), ...given],
      body: Buffer.from(fill(template, variables)),
    };
  };
}

const errorTypes: Record<ResponseType, string> = {
  UNAUTHORIZED: 'UnauthorizedException',
  ACCESS_DENIED: 'AccessDeniedException',
  AUTHORIZER_CONFIGURATION_ERROR: 'AuthorizerConfigurationException',
  MISSING_AUTHENTICATION_TOKEN: 'MissingAuthenticationTokenException',
  REQUEST_TOO_LARGE: 'RequestTooLargeException',
  INTEGRATION_TIMEOUT: 'InternalServerErrorException',
  DEFAULT_5XX: 'InternalServerErrorException',
};

// `'text'` is literal, `context.name` a variable.
function headerValue(value: string, variables: ResponseContext): string {
  if (value.startsWith("'")) return value.slice(1, -1);
  return variables[value.replace(/^context\./, '')] ?? '';
}

function fill(template: string, variables: ResponseContext): string {
  return template.replace(/\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)/g, (_, name: string) => variables[name] ?? '');
}
