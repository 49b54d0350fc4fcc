import { Redis } from 'ioredis';
import type { StackState } from '../../local/state-file.ts';
import type { Finding } from './check.ts';
import { leaseMs, running } from './times.ts';

const lookEveryMs = 500;
/** A request that was on its way when its process was killed may extend the lease a moment later. */
const underWayMs = 1_000;

/** The live slots of a pool, each with its holder's value: one moment, by Redis's own clock. */
const readSlots = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {}
for _, slot in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%d', now), '+inf')) do
  reply[#reply + 1] = slot
  reply[#reply + 1] = redis.call('HGET', KEYS[2], string.match(slot, '^(.*)#')) or ''
end
return reply`;

/** What is known of the processes that held slots, and of Redis. */
export type Known = {
  /** When a function's process was killed; undefined: it was not, or so near to a blow at Redis that nothing can be said of its slots. */
  killedAt(pid: number): number | undefined;
  /** The process that acquired slots under a nonce. */
  pidOf(nonce: string): number | undefined;
  /** Redis lost its data not a lease ago: a rebuild puts back the slots of every running record, also of those whose worker is dead. */
  isRestored(): boolean;
};

export type SlotWatch = { readonly findings: readonly Finding[]; most(): number; looks(): number; stop(): void };

/**
 * Looks into Redis while the campaign runs: never more live slots than the pool has, and none held by a process that was killed longer than a lease
 * ago. `most` is the most slots that were seen at once.
 */
export function watchSlots({ redis }: StackState, known: Known): SlotWatch {
  const client = new Redis({
    host: '127.0.0.1',
    port: redis?.port ?? 0,
    ...(redis?.password === undefined ? {} : { password: redis.password }),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => lookEveryMs,
  });
  client.on('error', () => {});
  const findings = new Map<string, Finding>();
  let most = 0;
  let looks = 0;
  const look = async () => {
    for (const key of await client.keys('{weir:*}:slots:pool:*')) {
      const flat = (await client.eval(readSlots, 2, key, key.replace(/:slots:.*$/, ':holders'))) as string[];
      const live = Array.from({ length: flat.length / 2 }, (_, index) => [
        flat[2 * index] ?? '',
        flat[2 * index + 1] ?? '',
      ]);
      looks++;
      if (!known.isRestored()) most = Math.max(most, live.length);
      if (live.length > running && !known.isRestored())
        findings.set(key, { kind: 'over the limit', what: `${live.length} live slots of ${running} in ${key}` });
      for (const [slot = '', holder = ''] of live) judge(slot, holder.split('|')[0] ?? '');
    }
  };
  const judge = (slot: string, nonce: string) => {
    const killedAt = known.killedAt(known.pidOf(nonce) ?? 0);
    const forMs = killedAt === undefined ? 0 : Date.now() - killedAt;
    if (forMs <= leaseMs + underWayMs) return;
    const what = `${slot} is live ${forMs} ms after its worker was killed`;
    findings.set(slot, { kind: 'slot of the dead', task: slot.split('|').at(-1)?.split('#')[0], what });
  };
  const timer = setInterval(() => void look().catch(() => undefined), lookEveryMs);
  return {
    get findings() {
      return [...findings.values()];
    },
    most: () => most,
    looks: () => looks,
    stop() {
      clearInterval(timer);
      client.disconnect();
    },
  };
}
