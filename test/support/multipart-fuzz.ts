import { createHash } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect } from 'vitest';
import { admitRoute } from '../../lib/http/admit-route.ts';
import { httpHandler } from '../../lib/http/http-handler.ts';
import { type Random, random } from '../protocol/random.ts';
import { openSystem } from './deps.ts';
import { proxyEvent } from './event.ts';
import { silent } from './gate.ts';

const boundary = 'b0undary';
const atOnce = 4;
const fragments = [
  '\r\n',
  '\r\n\r\n',
  '--',
  `\r\n--${boundary}`,
  `\r\n--${boundary}--`,
  `--${boundary}\r\n`,
  'Content-Disposition: form-data; name="input"',
  'Content-Disposition: form-data; name="document"; filename="a.txt"',
  "Content-Disposition: form-data; name=document; filename*=UTF-8''%ff.txt",
  'Content-Type: text/plain; charset=utf-16',
  'Content-Transfer-Encoding: base64',
  '"',
  ';',
  '\\',
  '\0',
  '{"a":1}',
  '{"__proto__":{}}',
  '\ufeff{}',
  'ÿþ',
];
const contentTypes = [
  `multipart/form-data; boundary=${boundary}`,
  `multipart/form-data; boundary="${boundary}"`,
  `Multipart/Form-Data;boundary=${boundary}; charset=utf-8`,
  'multipart/form-data; boundary=other',
  'multipart/form-data; boundary=',
  'multipart/form-data',
  `multipart/form-data; boundary="${boundary}`,
  `multipart/form-data; boundary=${'b'.repeat(300)}`,
];

/** A body that is well formed, each a little different. */
function whole({ next, chance }: Random): Buffer {
  const file = Buffer.from(Array.from({ length: Math.floor(next() * 40) }, () => Math.floor(next() * 256)));
  const options = chance(0.2) ? part('options', '{"maxWaitMs":86400000}') : [];
  const parts = [...part('input', `{"n":${Math.floor(next() * 4)}}`), ...part('document', file, 'a.txt'), ...options];
  return Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

function part(name: string, body: Buffer | string, filename?: string): Buffer[] {
  const file = filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: text/plain`;
  const head = `\r\n--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
  return [Buffer.from(head), Buffer.from(body)];
}

/** Cuts, doubles, swaps, overwrites or adds something somewhere. */
function harmed(body: Buffer, { next, pick }: Random): Buffer {
  const at = Math.floor(next() * (body.length + 1));
  const to = Math.min(body.length, at + Math.floor(next() * 30));
  const [before, middle, after] = [body.subarray(0, at), body.subarray(at, to), body.subarray(to)];
  const fragment = Buffer.from(pick(fragments), 'latin1');
  const noise = Buffer.from(Array.from({ length: middle.length }, () => Math.floor(next() * 256)));
  return Buffer.concat(
    pick([
      [before],
      [after],
      [before, after],
      [before, middle, middle, after],
      [middle, before, after],
      [before, noise, after],
      [before, fragment, after],
      [before, fragment, middle, after],
      [body, body],
    ]),
  );
}

/**
 * Posts `count` random multipart bodies, the same for the same seed. Every answer is 2xx or 4xx, and in the end there is what was accepted and nothing else: a
 * record and a seat for each task, its file, byte by byte by its SHA-256, and no object without a task.
 */
export async function fuzzMultipart(count: number, seed: number): Promise<Record<string, number>> {
  const system = await openSystem({ pool: { running: 2, pending: count } });
  const handler = httpHandler(silent, admitRoute(system.deps, 'https://weir.test/api'));
  const dice = random(seed);
  const answers: Record<string, number> = {};
  const ids = new Set<string>();
  const posts = Array.from({ length: count }, () => {
    let body = whole(dice);
    const harms = dice.chance(0.05) ? 0 : 1 + Math.floor(dice.next() * 5);
    for (let n = 0; n < harms; n++) body = harmed(body, dice);
    return { body, type: dice.chance(0.9) ? contentTypes[0] : dice.pick(contentTypes) };
  });
  const post = async ({ body, type }: (typeof posts)[number]) => {
    const event = proxyEvent({
      ...{ body, base64: true, headers: { 'content-type': type ?? '' } },
      pathParameters: { group: 'g', name: 'a' },
    });
    const { statusCode, body: text } = await handler(event, {} as never);
    const answer = JSON.parse(text) as { id?: string; code?: string };
    const label = `${statusCode} ${answer.code ?? ''}`.trim();
    expect([2, 4], `${label}: ${text}\n${body.toString('base64')}`).toContain(Math.floor(statusCode / 100));
    answers[label] = (answers[label] ?? 0) + 1;
    if (answer.id !== undefined) ids.add(answer.id);
  };
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = posts.pop(); next !== undefined; next = posts.pop()) await post(next);
    }),
  );
  await expectOnly(system, ids);
  return answers;
}

async function expectOnly(system: Awaited<ReturnType<typeof openSystem>>, ids: ReadonlySet<string>): Promise<void> {
  const { deps, client, table } = system;
  const found = new Set<string>();
  const objects = new Map<string, string>();
  for (let start: Record<string, never> | undefined; ; ) {
    const page = await client.send(
      new ScanCommand({
        TableName: table,
        FilterExpression: 'begins_with(pk, :t)',
        ExpressionAttributeValues: { ':t': { S: 'T#' } },
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
      }),
    );
    for (const { id, files } of page.Items ?? []) {
      found.add(id?.S ?? '');
      for (const { M } of files?.L ?? []) objects.set(M?.key?.S ?? '', M?.sha256?.S ?? '');
    }
    start = page.LastEvaluatedKey as typeof start;
    if (start === undefined) break;
  }
  expect(found).toEqual(ids);
  const stored = await system.objects();
  expect(new Set(stored)).toEqual(new Set([...objects.keys()].sort()));
  for (const [key, sha256] of objects) {
    const opened = await deps.files.open(key, new AbortController().signal);
    if (opened.kind === 'absent') throw new Error(`expected an object at ${key}`);
    const hash = createHash('sha256');
    for await (const bytes of opened.bytes) hash.update(bytes);
    expect(hash.digest('hex')).toBe(sha256);
  }
  const seats: string[] = [];
  for (let page: readonly { id: string }[] = [{ id: '' }]; page.length > 0; ) {
    const tier = { tier: 'pool', name: 'p' } as const;
    page = (await deps.gate.seats({ tier, offset: seats.length, count: 1_000 })).tasks;
    seats.push(...page.map(({ id }) => id));
  }
  expect(new Set(seats)).toEqual(ids);
}
