import { createHash, timingSafeEqual } from 'node:crypto';
import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { minute, second } from '../domain/time.ts';
import type { Clock } from '../ports.ts';
import type { Scope } from './scope.ts';

export type AuthorizeDeps = {
  readonly clock: Pick<Clock, 'now'>;
  /** Reads the operator's token where it is kept. */
  readToken(): Promise<string>;
};

/** How long a token that was read is taken for the current one: a token that was changed counts no longer than this. */
const keepMs = 2 * minute;
/** A token that does not match may be a new one, so it is read again; those who guess cause no more reads than this. */
const rereadMs = 5 * second;
const operatorScopes: readonly Scope[] = ['operate', 'read'];

type Held = { readonly digest: Buffer; readonly readAt: number };

/**
 * The gateway's REQUEST authorizer: `Authorization: Bearer <the operator's token>` may call every route of the stage, its scopes and subject go
 * to the function in the authorizer's context. Any other credential throws `Error('Unauthorized')`, the one error the gateway answers with 401.
 */
export function authorizeHandler({ readToken, clock }: AuthorizeDeps) {
  let held: Held | undefined;
  const current = async (maxAgeMs: number): Promise<Held> => {
    if (held === undefined || clock.now() - held.readAt >= maxAgeMs) {
      held = { digest: digest(await readToken()), readAt: clock.now() };
    }
    return held;
  };
  return async (event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> => {
    const given = bearerToken(event);
    if (given === undefined) throw new Error('Unauthorized');
    const asked = digest(given);
    const matches = async (maxAgeMs: number) => timingSafeEqual(asked, (await current(maxAgeMs)).digest);
    if (!(await matches(keepMs)) && !(await matches(rereadMs))) throw new Error('Unauthorized');
    return operator(event.methodArn);
  };
}

function bearerToken({ headers }: APIGatewayRequestAuthorizerEvent): string | undefined {
  const credential = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return /^Bearer +(\S.*)$/i.exec(credential?.trim() ?? '')?.[1];
}

/** Two digests have one length, whatever the tokens' lengths are. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The whole stage, not this one method: the gateway keeps the policy for the credential and judges other routes by it. */
function operator(methodArn: string): APIGatewayAuthorizerResult {
  const [api, stage] = methodArn.split('/');
  return {
    principalId: 'operator',
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: `${api}/${stage}/*` }],
    },
    context: { subject: 'operator', scopes: operatorScopes.join(' ') },
  };
}
