import type { Deps, WorkDeps } from '../../lib/operations/deps.ts';
import { heartbeat } from '../../lib/operations/heartbeat.ts';

/** A heart in the test's own event loop, that beats with these very dependencies. */
export function withHeart(deps: Deps): WorkDeps {
  return { ...deps, heart: { beat: (held, lost) => heartbeat(deps, held, { lost }) } };
}
