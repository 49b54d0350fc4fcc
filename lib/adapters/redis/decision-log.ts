import * as z from 'zod';
import type { LogEntry, LoggedTier, LogWords } from '../../domain/log-entry.ts';
import { type EpochMs, toEpochMs } from '../../domain/time.ts';
import type { RedisConnection } from './connection.ts';
import type { CellKeys } from './keys.ts';

/** The decision log of a cell as it was read: oldest first. */
export type DecisionLog = {
  readonly entries: readonly LogEntry[];
  /** Every record since the stream began; false: the oldest were dropped because it is capped. */
  readonly whole: boolean;
  /** How many were ever written; undefined where the server does not say. */
  readonly written: number | undefined;
  /** Overrides in force now: `inSystem:<label>` or `running:<label>` → limit. */
  readonly live: Readonly<Record<string, number>>;
};

type Page = readonly (readonly [id: string, fields: readonly string[]])[];

const pageSize = 1_000;
/** A log is capped at about 20,000 records; past this many it grows faster than it is read. */
const mostEntries = 200_000;

/** Reads the whole log in pages. Where records were dropped between two pages, what came before the gap is left out. */
export async function readDecisionLog(connection: RedisConnection, keys: CellKeys): Promise<DecisionLog> {
  const read = (from: string, count: number) =>
    connection.call('decision log', (client) => client.xrange(keys.log, from, '+', 'COUNT', count) as Promise<Page>);
  const stream = await readStream(connection, keys);
  let entries: LogEntry[] = [];
  for (let last = ''; entries.length < mostEntries; ) {
    const page = await read(last === '' ? '-' : `(${last}`, pageSize);
    if (last !== '' && isLater((await read('-', 1))[0]?.[0], last)) entries = [];
    for (const [id, [, text = '']] of page) entries.push(parseEntry(id, text));
    if (page.length < pageSize) break;
    last = page.at(-1)?.[0] ?? last;
  }
  const whole = stream.added === stream.length && stream.first === entries[0]?.id;
  return { entries, whole, written: stream.added, live: await liveLimits(connection, keys) };
}

/** One record; see each `write_log` call under lua/ for its words. Never throws: what cannot be read is `unreadable`. */
export function parseEntry(id: string, text: string): LogEntry {
  try {
    const [kind = '', now = '', ...rest] = text.split(' ');
    const words = parseWords(kind, rest.join(' '));
    return words === undefined ? { kind: 'unreadable', id, text } : { ...words, id, now: toEpochMs(Number(now)) };
  } catch {
    return { kind: 'unreadable', id, text };
  }
}

// A tenant is somebody else's text and may hold spaces, so a member is read up to the task id that ends it.
const id = '[0-9a-f-]{36}';
const member = `(.*?\\|${id})`;
const tiers = '((?:(?:pool|api|tenant|ip):\\S+ ?)*)';
const limits = '((?:(?:\\d+|-) ?)*)';
const shapes = {
  admit: new RegExp(`^${member} (\\d+) ${tiers}${limits}$`),
  replace: new RegExp(`^${member}$`),
  acquire: new RegExp(`^${member} (\\d+) (\\d+) (\\d+) (\\d+) ${tiers}${limits}$`),
  restore: new RegExp(`^${member} (\\d+) (\\d+) ${tiers}$`),
  release: new RegExp(`^${member} ([01]) ([01])$`),
  lost: new RegExp(`^${member} (\\S+)$`),
  sweep: /^(seats|slots):(\S+) (\d+) (.*)$/,
  limits: /^(\d+)((?: (?:inSystem|running|paused|rate):\S+=\S+)*)$/,
  epoch: /^(\d+)$/,
};
const dropped = new RegExp(`\\S.*?\\|${id}(?:#\\d+)?(?= |$)`, 'g');

function parseWords(kind: string, text: string): LogWords | undefined {
  if (!Object.hasOwn(shapes, kind)) return undefined;
  const known = kind as keyof typeof shapes;
  const found = shapes[known].exec(text)?.slice(1);
  if (found === undefined) return undefined;
  const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = found;
  switch (known) {
    case 'admit':
      return { kind: known, member: a, seatUntil: moment(b), tiers: limited(c, d) };
    case 'replace':
      return { kind: known, member: a };
    case 'acquire': {
      const until = { slotsUntil: moment(b), seatUntil: moment(c) };
      return { kind: known, member: a, ...until, permits: Number(d), attempt: Number(e), tiers: limited(f, g) };
    }
    case 'restore':
      return {
        kind: known,
        member: a,
        seatUntil: b === '0' ? undefined : moment(b),
        permits: Number(c),
        tiers: words(d),
      };
    case 'release':
      return { kind: known, member: a, slots: b === '1', seats: c === '1' };
    case 'lost':
      return { kind: known, member: a, nonce: b };
    case 'sweep':
      return { kind: known, set: a as 'seats' | 'slots', tier: b, left: Number(c), dropped: d.match(dropped) ?? [] };
    case 'limits':
      return { kind: known, version: Number(a), overrides: Object.fromEntries(words(b).filter(isLimit).map(field)) };
    case 'epoch':
      return { kind: known, epoch: Number(a) };
  }
}

/** Tier names and, one for each, the limit (`-` = none). */
function limited(names: string, numbers: string): LoggedTier[] {
  const each = words(numbers);
  const tierNames = words(names);
  if (each.length !== tierNames.length) throw new Error(`expected ${tierNames.length} limits, got ${each.length}`);
  return tierNames.map((tier, at) => (each[at] === '-' ? { tier } : { tier, limit: Number(each[at]) }));
}

/** Rate rules are no tier's limit: nothing is recomputed of them. */
function isLimit(word: string): boolean {
  return !word.startsWith('rate:');
}

function field(text: string): [string, number] {
  const at = text.lastIndexOf('=');
  return [text.slice(0, at), Number(text.slice(at + 1))];
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}

function moment(text: string): EpochMs {
  return toEpochMs(Number(text));
}

const streamInfo = z.object({
  length: z.int(),
  /** Redis 7 counts what was ever added. */
  'entries-added': z.int().optional(),
  'first-entry': z.tuple([z.string()], z.unknown()).nullable(),
});

async function readStream(connection: RedisConnection, keys: CellKeys) {
  const info = await connection
    .call('decision log', (client) => client.xinfo('STREAM', keys.log) as Promise<unknown>)
    .catch((error: unknown) => {
      if (error instanceof Error && error.message.includes('no such key')) return undefined;
      throw error;
    });
  if (info === undefined) return { added: 0, length: 0, first: undefined };
  const { length, ...rest } = streamInfo.parse(Array.isArray(info) ? pairs(info) : info);
  return { added: rest['entries-added'], length, first: rest['first-entry']?.[0] };
}

function pairs(flat: readonly unknown[]): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) named[String(flat[at])] = flat[at + 1];
  return named;
}

async function liveLimits(connection: RedisConnection, keys: CellKeys): Promise<Record<string, number>> {
  const fields = await connection.call('limits', (client) => client.hgetall(keys.limits));
  const overrides = Object.entries(fields).filter(([name]) => /^(inSystem|running):/.test(name));
  return Object.fromEntries(overrides.map(([name, value]) => [name, Number(value)]));
}

/** Stream ids compare by their moment, then by their number. */
function isLater(id: string | undefined, other: string): boolean {
  if (id === undefined) return true;
  const [ms = 0, number = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && number > otherNumber);
}
