import type { Since } from '../operations/watch.ts';
import type { Held } from '../operations/work.ts';

/** What a worker tells its heartbeat thread. `beat` numbers the attempts of one process. */
export type ToThread =
  | ({ readonly kind: 'begin'; readonly beat: number; readonly held: Held } & Since)
  | { readonly kind: 'stop'; readonly beat: number };

/** What the thread tells back: a beat that began `at` got through, or there are no more. */
export type FromThread =
  | { readonly kind: 'beaten'; readonly beat: number; readonly at: number }
  | { readonly kind: 'lost'; readonly beat: number; readonly because: string };
