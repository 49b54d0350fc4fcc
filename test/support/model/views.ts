import type { Ledger, Observation } from '../../../lib/domain/gate-replies.ts';
import { toTaskId } from '../../../lib/domain/task-id.ts';
import type { Tier } from '../../../lib/domain/tiers.ts';
import { toEpochMs } from '../../../lib/domain/time.ts';
import type { ObserveInput } from '../../../lib/ports.ts';
import { liveUses, memberOf, runningTasks, stateOf, type World } from './world.ts';

/** What the gate counts, said to a person: uses and limits, who runs, who waits and before whom. */
export function observe(world: World, { tiers, of }: ObserveInput): Observation {
  const asked = of === undefined ? '' : memberOf(of);
  return {
    now: world.now,
    limitsVersion: world.version ?? 0,
    rebuilding: world.epoch === undefined,
    tiers: liveUses(world, tiers).map((use) => {
      const running = runningTasks(world, use);
      const seated = stateOf(world, use).seats.live(world.now);
      const waits = (member: string) => !running.has(member);
      const place = seated.indexOf(asked);
      const oldest = seated.find(waits);
      return {
        ...use,
        tasksRunning: running.size,
        ...(place < 0 ? {} : { ahead: seated.slice(0, place).filter(waits).length }),
        ...(oldest === undefined ? {} : { oldestWaiting: idOf(oldest) }),
        ...(use.tier === 'pool' && world.paused[use.name] !== undefined ? { paused: world.paused[use.name] } : {}),
      };
    }),
  };
}

/** Who holds live slots, tier by tier, the slot that lapses first at the front. */
export function ledger(world: World, tiers: readonly Tier[]): Ledger {
  const { now, holders } = world;
  const slots = tiers.flatMap((tier) => {
    const live = stateOf(world, tier).slots;
    return [...runningTasks(world, tier)].map((member) => {
      const held = live.live(now).filter((slot) => slot.startsWith(`${member}#`));
      const lapsesAt = toEpochMs(live.ends.get(held[0] ?? '') ?? 0);
      const holder = holders.get(member);
      const known =
        holder === undefined
          ? {}
          : {
              since: holder.since,
              attempt: holder.attempt,
              lastHeartbeat: toEpochMs(lapsesAt - holder.leaseMs),
            };
      const tenant = member.slice(0, member.lastIndexOf('|'));
      return { ...tier, tenant, taskId: idOf(member), permits: held.length, lapsesAt, ...known };
    });
  });
  return { now, slots };
}

function idOf(member: string) {
  return toTaskId(member.slice(member.lastIndexOf('|') + 1));
}
