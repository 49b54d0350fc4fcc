import type { APIGatewayProxyEvent } from 'aws-lambda';
import { hookSecret } from '../../lib/domain/signing-keys.ts';
import { proxyEvent } from './event.ts';

/** As Alertmanager's documentation shows it, with what is asked for. */
export function alertmanagerBody(over: Record<string, unknown> = {}) {
  return {
    receiver: 'weir',
    status: 'firing',
    alerts: [
      {
        status: 'firing',
        labels: { alertname: 'DiskFull', instance: 'db-1' },
        annotations: { summary: 'The disk of db-1 is full' },
        startsAt: '2026-01-31T12:00:00.123456789Z',
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: 'http://prometheus.internal/graph?g0.expr=full',
        fingerprint: 'c0ffee0123456789',
      },
    ],
    groupLabels: { alertname: 'DiskFull' },
    commonLabels: { alertname: 'DiskFull', instance: 'db-1' },
    commonAnnotations: { summary: 'The disk of db-1 is full' },
    externalURL: 'http://alertmanager.internal',
    version: '4',
    groupKey: '{}:{alertname="DiskFull"}',
    truncatedAlerts: 0,
    ...over,
  };
}

export const secretOf = (source: string): string => hookSecret('m'.repeat(48), source);

/** A post to a hook, with its bearer token unless other headers are given. */
export function hookEvent(
  source: string,
  body: unknown,
  over: { headers?: Record<string, string>; sourceIp?: string } = {},
): APIGatewayProxyEvent {
  const { headers = { authorization: `Bearer ${secretOf(source)}` }, ...rest } = over;
  return {
    ...proxyEvent({
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
      pathParameters: { source },
      ...rest,
    }),
    resource: '/v1/hooks/{source}',
    path: `/v1/hooks/${source}`,
  };
}
