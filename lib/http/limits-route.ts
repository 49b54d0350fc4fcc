import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { isoTime } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import {
  changeLimits,
  type LimitEffect,
  type LimitsChanged,
  type LimitsView,
  readLimits,
} from '../operations/limits.ts';
import { json } from './answer.ts';
import type { ControlDeps } from './control-route.ts';
import { header } from './header.ts';
import { invalidInput, malformed, ProblemError } from './problem.ts';
import { bodyBytes, queryFlag, wholeNumber } from './request.ts';
import { requireJson } from './request-body.ts';
import { subjectOf } from './scope.ts';
import { parseJson } from './submission.ts';

const jsonTypes = ['application/json', 'application/merge-patch+json'];

/** GET /v1/operator/limits, and those of an earlier version with `?version=3`. */
export async function readLimitsRoute(deps: ControlDeps, event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const version = wholeNumber(event, 'version', { from: 0, to: 1e15 });
  const view = await readLimits(deps, version);
  if (view === undefined) {
    const detail = `No version ${version} was ever set.`;
    throw new ProblemError({ status: 404, code: 'unknown_version', title: 'There is no such version', detail });
  }
  return json(200, limitsView(view), { ETag: etag(view.version) });
}

/** PATCH (RFC 7396 merge of the overrides) and PUT (all of them) /v1/operator/limits; `?dryRun=1` changes nothing. */
export async function changeLimitsRoute(
  deps: ControlDeps,
  event: APIGatewayProxyEvent,
  how: 'merge' | 'replace',
): Promise<APIGatewayProxyResult> {
  requireJson(event, jsonTypes);
  const changed = await changeLimits(deps, {
    how,
    body: parseJson(bodyBytes(event), 'the body'),
    ifVersion: ifMatch(event),
    dryRun: queryFlag(event, 'dryRun'),
    by: subjectOf(event),
  });
  return answer(changed);
}

function answer(changed: LimitsChanged): APIGatewayProxyResult {
  switch (changed.kind) {
    case 'changed':
    case 'would_change': {
      const { view, effects, delayed } = changed;
      const body = {
        ...limitsView(view),
        effects: effects.map((effect) => ({ ...effect, says: sentence(effect) })),
        ...(changed.kind === 'would_change' ? { dryRun: true } : {}),
        ...(delayed === undefined ? {} : { inForce: 'within a minute: Redis does not answer at the moment' }),
      };
      return json(200, body, changed.kind === 'changed' ? { ETag: etag(view.version) } : {});
    }
    case 'stale':
      throw new ProblemError({
        status: 412,
        code: 'stale_version',
        title: 'The limits were changed by somebody else',
        detail: `Version ${changed.version} is in force; read it and decide again.`,
        members: { version: changed.version },
      });
    case 'faults':
      throw invalidInput(changed.faults);
    default:
      return unreachable(changed);
  }
}

function limitsView({ version, limits, overrides, paused, changedAt, changedBy }: LimitsView): Record<string, unknown> {
  return {
    version,
    etag: etag(version),
    ...(changedAt === undefined ? {} : { changedAt: isoTime(changedAt) }),
    ...(changedBy === undefined ? {} : { changedBy }),
    limits,
    overrides,
    paused,
  };
}

/** One effect for a person: `pool p: running from 17 to 10; 17 running, 7 over the new limit, nothing is stopped; drains in about 45 s`. */
function sentence({ tier, name, limit, from, to, inUse, over, drainsInMs }: LimitEffect): string {
  const what = limit === 'running' ? 'running' : 'in the system';
  const change = `${tier} ${name}: ${what} from ${from ?? 'no limit'} to ${to ?? 'no limit'}`;
  if (over === 0) return `${change}; ${inUse} ${what} now`;
  const drain = drainsInMs === undefined ? '' : `; drains in about ${Math.max(1, Math.round(drainsInMs / 1_000))} s`;
  return `${change}; ${inUse} ${what}, ${over} over the new limit, nothing is stopped${drain}`;
}

function etag(version: number): string {
  return `"${version}"`;
}

function ifMatch(event: APIGatewayProxyEvent): number | undefined {
  const given = header(event, 'if-match')?.trim();
  if (given === undefined || given === '*') return undefined;
  const version = /^"(\d{1,15})"$/.exec(given)?.[1];
  if (version === undefined)
    throw malformed('invalid_if_match', 'Expected If-Match with the quoted version of the limits, such as "7".');
  return Number(version);
}
