import type { APIGatewayProxyEvent } from 'aws-lambda';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { isTaskId, type TaskId } from '../domain/task-id.ts';
import { type EpochMs, nearestEpochMs } from '../domain/time.ts';
import { checkDigests } from './digest.ts';
import { header } from './header.ts';
import { malformed, ProblemError } from './problem.ts';

/** The tenant of a request where no authorizer names one. */
const openTenant = 'open';
/** What fits through the gateway and a function's event once files are in base64. */
export const maxBodyBytes = 4_400_000;

/** Who asks, for limits and for what may be seen: one tenant while task routes have no authorizer. */
export function tenantOf(_event: APIGatewayProxyEvent): string {
  return openTenant;
}

/** The client's address as the gateway saw it; IPv6 by its /64, because one client has all of that. */
export function clientAddress(event: APIGatewayProxyEvent): string {
  const address = ipaddr.process(event.requestContext.identity.sourceIp);
  if (address.kind() === 'ipv4') return address.toString();
  const network = new ipaddr.IPv6([...(address as ipaddr.IPv6).parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}

/** The body's bytes, by the gateway's own word on their encoding. Refuses compressed and too large bodies, and those that are not what a digest says. */
export function bodyBytes(event: APIGatewayProxyEvent): Buffer {
  const encoding = header(event, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ProblemError({
      status: 415,
      code: 'unsupported_encoding',
      title: 'The body must not be compressed',
      detail: `Expected no Content-Encoding, got ${JSON.stringify(encoding.slice(0, 100))}.`,
    });
  }
  const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBodyBytes) {
    throw new ProblemError({
      status: 413,
      code: 'too_large',
      title: 'The body is too large',
      detail: `Expected at most ${maxBodyBytes} bytes, got ${bytes.length}; declare larger files by POST /uploads.`,
      members: { maxBytes: maxBodyBytes },
    });
  }
  checkDigests(event, bytes);
  return bytes;
}

/** 1 to 255 visible ASCII characters, perhaps in double quotes, which are not part of the key. */
export function idempotencyKey(event: APIGatewayProxyEvent): string | undefined {
  const given = header(event, 'idempotency-key');
  if (given === undefined) return undefined;
  const key = /^"(.*)"$/.exec(given.trim())?.[1] ?? given.trim();
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw malformed('invalid_idempotency_key', 'Expected Idempotency-Key with 1 to 255 visible ASCII characters.');
  }
  return key;
}

/** The task a path names; anything that is no id names none. */
export function taskIdOf({ pathParameters }: APIGatewayProxyEvent): TaskId {
  const id = pathParameters?.id ?? '';
  if (!isTaskId(id)) throw unknownTask(id);
  return id;
}

/** Also for somebody else's task: that there is one is nobody's business. */
export function unknownTask(id: string): ProblemError {
  return new ProblemError({
    status: 404,
    code: 'unknown_task',
    title: 'There is no such task',
    detail: `No task ${JSON.stringify(id.slice(0, 64))} is known here; a task is kept for a limited time after it was created.`,
  });
}

/** A whole number in the query; throws 400 for anything else. */
export function wholeNumber(
  event: APIGatewayProxyEvent,
  name: string,
  { from, to }: { from: number; to: number },
): number | undefined {
  const text = event.queryStringParameters?.[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= from && value <= to) return value;
  const got = JSON.stringify(text.slice(0, 40));
  throw malformed(`invalid_${snake(name)}`, `Expected ${name} as a whole number from ${from} to ${to}, got ${got}.`);
}

/** A moment as ISO 8601 with its zone. */
export const isoMoment = z.iso.datetime({ offset: true }).transform((text) => nearestEpochMs(Date.parse(text)));

/** A moment in the query; throws 400 for anything else. */
export function queryMoment(event: APIGatewayProxyEvent, name: string): EpochMs | undefined {
  const text = event.queryStringParameters?.[name];
  if (text === undefined) return undefined;
  const read = isoMoment.safeParse(text);
  if (read.success) return read.data;
  const got = JSON.stringify(text.slice(0, 40));
  throw malformed(`invalid_${snake(name)}`, `Expected ${name} like 2026-01-31T12:00:00Z, got ${got}.`);
}

/** `1` or `0` in the query, absent is 0; throws 400 for anything else. */
export function queryFlag(event: APIGatewayProxyEvent, name: string): boolean {
  const text = event.queryStringParameters?.[name] ?? '0';
  if (text !== '0' && text !== '1') throw malformed(`invalid_${snake(name)}`, `Expected ${name}=1 or ${name}=0.`);
  return text === '1';
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
