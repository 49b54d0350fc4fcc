import type { Pause } from '../domain/live-limits.ts';
import type { LimitsVersion } from '../ports.ts';
import type { Deps } from './deps.ts';
import { storeLimits } from './limits.ts';

export type PauseChange = {
  readonly pool: string;
  /** Undefined: the pool goes on. */
  readonly pause: Pause | undefined;
  readonly by: string;
};

/** `unchanged`: it was so already. `delayed`: stored, but in force only once reconcile has put it into Redis, within a minute. */
export type PauseChanged = {
  readonly kind: 'changed' | 'unchanged' | 'delayed';
  readonly version: number;
};

/**
 * Pauses a pool, so that nothing of it starts, or lets it go on. What runs goes on; what waits keeps its place, and expires at its start deadline as
 * always. A pause is kept and put into force as live limits are, under the same version.
 */
export async function changePause(
  deps: Pick<Deps, 'weir' | 'records' | 'gate' | 'clock' | 'log'>,
  { pool, pause, by }: PauseChange,
): Promise<PauseChanged> {
  for (;;) {
    const stored = await deps.records.readLimits();
    const { version = 0, overrides = {}, paused = {} } = stored ?? {};
    if (paused[pool]?.admission === pause?.admission) return { kind: 'unchanged', version };
    const { [pool]: _, ...others } = paused;
    const next: LimitsVersion = {
      version: version + 1,
      overrides,
      paused: pause === undefined ? others : { ...others, [pool]: pause },
      changedAt: deps.clock.now(),
      changedBy: by,
    };
    const kind = await storeLimits(deps, next);
    if (kind !== 'stale') return { kind: kind === 'stored' ? 'changed' : 'delayed', version: next.version };
  }
}
