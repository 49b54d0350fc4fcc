import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Signing } from '../ports.ts';
import { json } from './answer.ts';
import { malformed } from './problem.ts';

const longestTenant = 256;

/** GET /v1/operator/webhook-secret?tenant=open: what the receivers of a tenant's callbacks verify them with. Any tenant has one. */
export async function webhookSecretRoute(
  deps: Pick<Signing, 'webhookSecret'>,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const tenant = event.queryStringParameters?.tenant ?? '';
  if (tenant === '' || tenant.length > longestTenant) {
    throw malformed('invalid_tenant', `Expected ?tenant=<name of the tenant>, of at most ${longestTenant} characters.`);
  }
  return json(200, { tenant, secret: await deps.webhookSecret(tenant) });
}
