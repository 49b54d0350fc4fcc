import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Weir } from '../config.ts';
import type { Signing } from '../ports.ts';
import { json } from './answer.ts';
import { hookOf } from './hook-of.ts';

/** GET /v1/operator/hook-secret?source=alerts: what the sender of a hook's events has to show, and in which form. */
export async function hookSecretRoute(
  deps: Pick<Signing, 'hookSecret'> & { readonly weir: Pick<Weir, 'hooks'> },
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const { source, auth } = hookOf(deps, event.queryStringParameters?.source);
  return json(200, { source, auth, secret: await deps.hookSecret(source) });
}
