import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';

type GatewayProblem = {
  readonly type: ResponseType;
  /** Absent: the gateway's own. */
  readonly status?: number;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const retrySoon = { 'Retry-After': '1' };

/** What the gateway answers by itself, without any function. Texts are fixed: none may carry what the client sent. */
const problems: Readonly<Record<string, GatewayProblem>> = {
  'no-route': {
    type: ResponseType.MISSING_AUTHENTICATION_TOKEN,
    status: 404,
    title: 'Not Found',
    code: 'not_found',
    detail: 'No route has this path and method.',
  },
  'no-resource': {
    type: ResponseType.RESOURCE_NOT_FOUND,
    status: 404,
    title: 'Not Found',
    code: 'not_found',
    detail: 'No route has this path and method.',
  },
  'too-large': {
    type: ResponseType.REQUEST_TOO_LARGE,
    status: 413,
    title: 'Content Too Large',
    code: 'too_large',
    detail: 'A request may be 10 MB at most, and its files about 4.4 MB.',
  },
  'media-type': {
    type: ResponseType.UNSUPPORTED_MEDIA_TYPE,
    status: 415,
    title: 'Unsupported Media Type',
    code: 'unsupported_media_type',
    detail: 'Send application/json or multipart/form-data.',
  },
  'bad-parameters': {
    type: ResponseType.BAD_REQUEST_PARAMETERS,
    status: 400,
    title: 'Bad Request',
    code: 'malformed',
    detail: 'The parameters cannot be read.',
  },
  'bad-body': {
    type: ResponseType.BAD_REQUEST_BODY,
    status: 400,
    title: 'Bad Request',
    code: 'malformed',
    detail: 'The body cannot be read.',
  },
  unauthorized: {
    type: ResponseType.UNAUTHORIZED,
    status: 401,
    title: 'Unauthorized',
    code: 'unauthorized',
    detail: 'Expected Authorization: Bearer with a valid token.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  },
  denied: {
    type: ResponseType.ACCESS_DENIED,
    status: 403,
    title: 'Forbidden',
    code: 'forbidden',
    detail: 'The credential does not allow this.',
  },
  throttled: {
    type: ResponseType.THROTTLED,
    status: 429,
    title: 'Too Many Requests',
    code: 'rate_limited',
    detail: 'Too many requests reach the API. Try again.',
    headers: retrySoon,
  },
  'timed-out': {
    type: ResponseType.INTEGRATION_TIMEOUT,
    status: 504,
    title: 'Gateway Timeout',
    code: 'timed_out',
    detail: 'No answer came in 29 s. A task may have been admitted: post the same again, it is joined.',
    headers: retrySoon,
  },
  'no-answer': {
    type: ResponseType.INTEGRATION_FAILURE,
    status: 502,
    title: 'Bad Gateway',
    code: 'unavailable',
    detail: 'No usable answer came from behind the API. Try again.',
    headers: retrySoon,
  },
  'client-fault': {
    type: ResponseType.DEFAULT_4XX,
    title: 'Request Refused',
    code: 'refused',
    detail: 'The API refused the request before it reached Weir.',
  },
  'server-fault': {
    type: ResponseType.DEFAULT_5XX,
    title: 'Server Error',
    code: 'unavailable',
    detail: 'Something behind the API failed. Try again.',
    headers: retrySoon,
  },
};

/**
 * Gives the gateway's own answers the form of every other error: RFC 9457. A template is chosen by the client's `Accept`, `application/json`
 * when nothing fits, so that is the key, and the header names what the body is.
 */
export function answerWithProblems(rest: RestApi): void {
  for (const [id, { type, status, title, code, detail, headers }] of Object.entries(problems)) {
    const body = { type: 'about:blank', title, ...(status === undefined ? {} : { status }), code, detail };
    rest.addGatewayResponse(id, {
      type,
      ...(status === undefined ? {} : { statusCode: `${status}` }),
      templates: { 'application/json': JSON.stringify(body) },
      responseHeaders: quoted({ 'Content-Type': 'application/problem+json', ...headers }),
    });
  }
}

/** A fixed value stands in single quotes in the gateway's language. */
function quoted(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `'${value}'`]));
}
