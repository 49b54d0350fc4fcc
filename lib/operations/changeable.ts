import type { Weir } from '../config.ts';
import type { Changeable } from '../domain/live-limits.ts';

/** What of the configuration an operator may change live. */
export function changeable({ pools, tasks, limits, rates }: Weir): Changeable {
  return { pools, apis: Object.keys(tasks), limits, rates };
}
