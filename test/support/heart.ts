import type { Deps, WorkDeps } from '../../lib/operations/deps.ts';
import { heartbeat } from '../../lib/operations/heartbeat.ts';

/** A heart in the test's own event loop, that beats with these very dependencies. */
export function withHeart<All extends Deps>(deps: All): All & WorkDeps {
  const taskSettings = { setting: () => undefined, secret: async () => undefined };
  return { ...deps, taskSettings, heart: { beat: (held, lost) => heartbeat(deps, held, { lost }) } };
}
