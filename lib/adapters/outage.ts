import { Unavailable } from '../ports.ts';

const outages = new Set([
  'TimeoutError',
  'AbortError',
  'InternalServerError',
  'ServiceUnavailable',
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'SlowDown',
  'TransactionConflictException',
]);

/** True for what may pass by itself (no answer, a throttle, a conflict); false for a request that is wrong. */
export function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, $retryable, $metadata } = error as {
    code?: unknown;
    $retryable?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  return (
    outages.has(error.name) ||
    $retryable !== undefined ||
    status >= 500 ||
    (typeof code === 'string' && /^E[A-Z]+$/.test(code))
  );
}

/** The same port, its outages thrown as `Unavailable`. The AWS clients behind it have time-outs and repeats of their own. */
export function bounded<Port extends object>(service: Unavailable['service'], port: Port): Port {
  return new Proxy(port, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        try {
          return await member.apply(target, args);
        } catch (error) {
          if (isOutage(error))
            throw new Unavailable(service, `${String(name)} had no answer (${error.message})`, error);
          throw error;
        }
      };
    },
  });
}

/** For whole files: a body takes as long as it takes, but no pause in it is longer than this. */
export const awsTransferTimes = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 500, socketTimeout: 20_000 },
} as const;

/** Time-outs of every AWS client: a function answers within seconds whatever is down. */
export const awsClientTimes = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 500, requestTimeout: 2_000, throwOnRequestTimeout: true },
} as const;
