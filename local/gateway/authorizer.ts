import * as z from 'zod';
import type { Functions } from '../lambda/functions.ts';
import type { FunctionPool } from '../lambda/pool.ts';
import { unsupported } from '../stack-error.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';
import type { AuthorizerEvent } from './event.ts';
import { invokeWithin } from './invoke-within.ts';
import { judge, policySchema } from './policy.ts';

/** What the integration sees in `requestContext.authorizer`: every value of the function's context as text. */
export type AuthorizerContext = { principalId: string; integrationLatency: number; [key: string]: string | number };

/** `misconfigured`: the function failed or gave no usable answer; the vendor answers 500. */
export type Verdict =
  | { kind: 'allowed'; context: AuthorizerContext }
  | { kind: 'unauthorized' }
  | { kind: 'denied' }
  | { kind: 'misconfigured'; why: string };

export type Authorizer = (event: AuthorizerEvent) => Promise<Verdict>;

export type AuthorizerDefinition = {
  pool: Pick<FunctionPool, 'invoke'>;
  identitySources: { in: 'header' | 'querystring'; name: string }[];
  /** 0: nothing is cached. */
  ttlMs: number;
};

const longestMs = 29_000;
const mostCached = 1_000;

const authorizerSchema = z.object({
  RestApiId: z.string(),
  Type: z.literal('REQUEST', 'only REQUEST authorizers are supported here'),
  AuthorizerUri: z.string(),
  IdentitySource: z.string().default(''),
  AuthorizerResultTtlInSeconds: z.coerce.number().int().min(0).max(3_600).default(300),
  IdentityValidationExpression: z.undefined('only TOKEN authorizers have one').optional(),
});
const answerSchema = z.object({
  principalId: z.string(),
  policyDocument: policySchema,
  context: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()], 'expected text, a number or a boolean'))
    .nullish(),
});
type Answer = z.output<typeof answerSchema>;

/** Reads the authorizers of one REST API, by logical id. */
export function readAuthorizers(
  template: Template,
  scope: StackScope,
  functions: Functions,
  apiId: string,
): Map<string, Authorizer> {
  const found = new Map<string, Authorizer>();
  for (const { logicalId } of resourcesOfType(template, 'AWS::ApiGateway::Authorizer')) {
    const properties = parseProperties(logicalId, authorizerSchema, scope.properties(logicalId));
    if (properties.RestApiId !== apiId) continue;
    const [, arn] = /:lambda:path\/2015-03-31\/functions\/(.+)\/invocations$/.exec(properties.AuthorizerUri) ?? [];
    const pool = arn === undefined ? undefined : functions.find(arn);
    if (pool === undefined)
      throw unsupported(logicalId, `AuthorizerUri: ${properties.AuthorizerUri} is no function of this stack`);
    const ttlMs = properties.AuthorizerResultTtlInSeconds * 1_000;
    const identitySources = readSources(logicalId, properties.IdentitySource);
    if (ttlMs > 0 && identitySources.length === 0)
      throw unsupported(logicalId, 'IdentitySource: needed where results are cached');
    found.set(logicalId, createAuthorizer({ pool, identitySources, ttlMs }));
  }
  return found;
}

function readSources(logicalId: string, text: string): AuthorizerDefinition['identitySources'] {
  const sources = text.split(',').map((each) => each.trim());
  return sources
    .filter((source) => source !== '')
    .map((source) => {
      const [, where, name] = /^method\.request\.(header|querystring)\.(.+)$/.exec(source) ?? [];
      if (name === undefined) throw unsupported(logicalId, `IdentitySource: ${source} is not supported here`);
      return { in: where === 'header' ? 'header' : 'querystring', name };
    });
}

/**
 * A REQUEST authorizer by the vendor's rules. An identity source that is missing or empty is unauthorized without a call; of what the function
 * throws, only `Error('Unauthorized')` is. Its answer is kept by stage and identity sources for the TTL, and the kept policy is judged anew for
 * each call: one that names a single method denies the others. `now` in milliseconds.
 */
export function createAuthorizer(
  { pool, identitySources, ttlMs }: AuthorizerDefinition,
  now: () => number = () => performance.now(),
): Authorizer {
  const cached = new Map<string, { answer: Answer; until: number }>();
  const keep = (key: string, answer: Answer) => {
    if (ttlMs === 0) return;
    cached.delete(key);
    cached.set(key, { answer, until: now() + ttlMs });
    // The oldest first: what was put in last has the latest end.
    for (const [old, { until }] of cached) if (until <= now() || cached.size > mostCached) cached.delete(old);
  };
  return async (event) => {
    const identity = identitySources.map((source) => identityOf(event, source));
    if (identity.some((value) => value === undefined || value === '')) return { kind: 'unauthorized' };
    const key = JSON.stringify([event.requestContext.stage, ...identity]);
    const known = cached.get(key);
    if (known !== undefined && known.until > now()) return verdict(known.answer, event.methodArn, 0);
    const calledAt = now();
    const outcome = await invokeWithin(pool, JSON.stringify(event), longestMs);
    switch (outcome.kind) {
      case 'timed-out':
        return { kind: 'misconfigured', why: `no answer within ${longestMs / 1_000} s` };
      case 'failed':
        return failed(outcome.payload);
      case 'answered': {
        const answer = answerSchema.safeParse(JSON.parse(outcome.payload));
        if (!answer.success) return { kind: 'misconfigured', why: describe(answer.error) };
        keep(key, answer.data);
        return verdict(answer.data, event.methodArn, Math.round(now() - calledAt));
      }
    }
  };
}

function identityOf(
  event: AuthorizerEvent,
  source: AuthorizerDefinition['identitySources'][number],
): string | undefined {
  if (source.in === 'querystring') return event.queryStringParameters[source.name];
  const wanted = source.name.toLowerCase();
  return Object.entries(event.headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

function verdict({ principalId, policyDocument, context }: Answer, methodArn: string, latencyMs: number): Verdict {
  if (judge(policyDocument, methodArn) === 'denied') return { kind: 'denied' };
  const values = Object.entries(context ?? {}).map(([key, value]) => [key, String(value)]);
  return { kind: 'allowed', context: { ...Object.fromEntries(values), principalId, integrationLatency: latencyMs } };
}

function failed(payload: string): Verdict {
  const { errorMessage } = z.object({ errorMessage: z.string().default('') }).parse(JSON.parse(payload));
  return errorMessage === 'Unauthorized' ? { kind: 'unauthorized' } : { kind: 'misconfigured', why: errorMessage };
}

function describe({ issues: [first] }: z.ZodError): string {
  return `its answer: ${first?.path.join('.') ?? ''}: ${first?.message ?? 'not understood'}`;
}
