import type { TaskRecord } from '../domain/task-record.ts';
import type { Tier } from '../domain/tiers.ts';
import type { Deps } from './deps.ts';
import type { Expectation } from './outlook.ts';

/** A tier without a free slot for the task; `ahead` of it wait in that tier. */
export type WaitingOn = Tier & { readonly inUse: number; readonly limit: number; readonly ahead?: number };
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
    const waitingOn = tiers.flatMap(({ tier, name, running, ahead }): WaitingOn[] => {
      const { inUse, limit } = running;
      if (limit === undefined || inUse + record.permits <= limit) return [];
      return [{ tier, name, inUse, limit, ...(ahead === undefined ? {} : { ahead }) }];
    });
    return { waitingOn, expectation: await deps.outlook.expect(task, tiers, tiers[0]?.ahead ?? 0) };
  };
  return Promise.race([look().catch(() => undefined), deps.clock.sleep(withinMs).then(() => undefined)]);
}
