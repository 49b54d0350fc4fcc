import type { TaskRecord } from '../domain/task-record.ts';
import type { Tier } from '../domain/tiers.ts';
import type { Deps } from './deps.ts';
import type { Expectation } from './outlook.ts';

/** A tier without a free slot for the task, or a pool that is paused; `ahead` of it wait in that tier. */
export type WaitingOn = Tier & {
  readonly inUse: number;
  readonly limit: number;
  readonly ahead?: number;
  readonly paused?: true;
};
export type Waiting = { readonly waitingOn: readonly WaitingOn[]; readonly expectation: Expectation };

/** Time a reader of the record waits for this beside it. */
const withinMs = 50;

/** Why a queued task does not run yet and when it is expected to; undefined where Redis does not tell within 50 ms. */
export async function waiting(
  deps: Pick<Deps, 'gate' | 'outlook' | 'weir' | 'clock'>,
  record: TaskRecord,
): Promise<Waiting | undefined> {
  const task = deps.weir.tasks[record.api];
  if (task === undefined || record.status !== 'queued') return undefined;
  const look = async (): Promise<Waiting> => {
    const { tiers } = await deps.gate.observe({ tiers: record.tiers, of: record });
    const waitingOn = tiers.flatMap(({ tier, name, running, ahead, paused }): WaitingOn[] => {
      const { inUse, limit } = running;
      const isFull = limit !== undefined && inUse + record.permits > limit;
      if (!isFull && paused === undefined) return [];
      const why = paused === undefined ? {} : { paused: true as const };
      return [{ tier, name, inUse, limit: limit ?? 0, ...(ahead === undefined ? {} : { ahead }), ...why }];
    });
    const expectation = await deps.outlook.expect(task, tiers, tiers[0]?.ahead ?? 0);
    // Nobody can say when a person lets the pool go on.
    const isPaused = waitingOn.some(({ paused }) => paused);
    return { waitingOn, expectation: isPaused ? { ...expectation, eta: { kind: 'unknown' } } : expectation };
  };
  return Promise.race([look().catch(() => undefined), deps.clock.sleep(withinMs).then(() => undefined)]);
}
