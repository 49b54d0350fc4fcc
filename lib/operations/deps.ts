import type { Weir } from '../config.ts';
import type { TaskId } from '../domain/task-id.ts';
import type { Clock, Files, Gate, Log, Messages, Metrics, Records, TaskSettings, Uploads } from '../ports.ts';
import type { Heart } from './heartbeat.ts';
import type { Outlook } from './outlook.ts';

/** What the operations need from outside; each takes the part it uses. `lib/wiring.ts` builds the real ones. */
export type Deps = {
  readonly weir: Weir;
  readonly gate: Gate;
  readonly records: Records;
  readonly messages: Messages;
  readonly files: Files;
  readonly clock: Clock;
  readonly outlook: Outlook;
  readonly log: Log;
  readonly metrics: Metrics;
  newId(): TaskId;
  newNonce(): string;
  /** Ends this process at once: the only way to stop a handler that goes on after it was told to stop. Its outcome is written by then. */
  exit(because: string): void;
};

/** What `admit` needs beside that. */
export type AdmitDeps = Deps & { readonly uploads: Uploads };

/** What `work` needs beside that. */
export type WorkDeps = Deps & { readonly heart: Heart; readonly taskSettings: TaskSettings };
