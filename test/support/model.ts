import { admit, confirm, peek, refuse } from './model/admission.ts';
import { restore, setLimits } from './model/cell-settings.ts';
import { times } from './model/learnt.ts';
import { rate, settle } from './model/rates.ts';
import { acquire, alive, extend, keep, release } from './model/slots.ts';
import { ledger, observe } from './model/views.ts';

export { loseData, newWorld, type Settings, type World } from './model/world.ts';

/**
 * The rules of the gate in plain TypeScript, each as `docs/limits.md` and the contracts of the scripts state it: a world, an input, an answer. The
 * moment is `world.now`. Locks, pointers and the rebuilder's lock lapse by the server's own clock; here they stay until somebody removes them.
 *
 * The model keeps leases that lapsed until a tier seems full, as the documents say the gate does, so that it answers the uses of an admission exactly
 * and not only within their promise ("at most too high").
 */
export const model = {
  peek,
  admit,
  refuse,
  rate,
  settle,
  confirm,
  acquire,
  extend,
  keep,
  release,
  alive,
  observe,
  ledger,
  times,
  setLimits,
  restore,
};
