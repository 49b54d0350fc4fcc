import { createHash } from 'node:crypto';
import { StackError } from '../stack-error.ts';
import { resourcesOfType, type Template } from './template.ts';

/** Where the deployed endpoints are on this machine. Filled while the stack starts, before anything asks. */
export type Endpoints = { http?: string; redis?: number; sqs?: number };

/**
 * Makes what a whole string says of the deployed stack true on this machine: secrets' dynamic references are resolved,
 * the REST API's invoke URL is the gateway's, and `rediss://<cache>` is `redis://127.0.0.1`.
 */
export function localEndpoints(
  template: Template,
  region: string,
  endpoints: Endpoints,
  secretText: (reference: string) => string,
): (resolved: string) => string {
  const apis = resourcesOfType(template, 'AWS::ApiGateway::RestApi');
  const caches = resourcesOfType(template, 'AWS::ElastiCache::ReplicationGroup');
  return (resolved) => {
    let local = resolved.replace(/\{\{resolve:secretsmanager:([^}]+)\}\}/g, (_, reference: string) =>
      secretText(reference),
    );
    for (const { logicalId } of apis) {
      const deployed = `https://${apiId(logicalId)}.execute-api.${region}.amazonaws.com`;
      if (local.includes(deployed)) local = local.replaceAll(deployed, started(endpoints.http, logicalId));
    }
    for (const { logicalId } of caches) {
      const host = cacheHost(logicalId);
      const address = new RegExp(`rediss://([^/@\\s]*@)?${host.replaceAll('.', '\\.')}`, 'g');
      local = local.replace(address, 'redis://$1127.0.0.1').replaceAll(host, '127.0.0.1');
    }
    return local;
  };
}

export function started<T>(endpoint: T | undefined, logicalId: string): T {
  if (endpoint === undefined) throw new StackError(`the endpoint of ${logicalId} was asked for before it was started`);
  return endpoint;
}

export function apiId(logicalId: string): string {
  return shortHash(logicalId).slice(0, 10);
}

export function cacheHost(logicalId: string): string {
  return `clustercfg.${logicalId.toLowerCase()}.cache.amazonaws.com`;
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
