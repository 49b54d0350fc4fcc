import { messageOf } from '../stack-error.ts';
import type { FunctionDefinition } from './definition.ts';
import { type Instance, type InvokeOutcome, startInstance } from './instance.ts';

/** A place among a function's instances, held until `release()`. */
export type Reservation = { invoke(payload: string): Promise<InvokeOutcome>; release(): void };

export type FunctionPool = {
  readonly definition: FunctionDefinition;
  /** Waits in order for a place. Rejects with the signal's reason when that is aborted first. */
  reserve(signal?: AbortSignal): Promise<Reservation>;
  /** Reserves, invokes and releases. */
  invoke(payload: string, signal?: AbortSignal): Promise<InvokeOutcome>;
  instances(): { pid: number; busy: boolean }[];
  /** Kills every instance; what runs fails. */
  stop(): Promise<void>;
};

export type PoolOptions = {
  logFile: string;
  log: (line: string) => void;
  /** Told when an instance starts, ends, or turns busy or idle. */
  onChange?: () => void;
};

const idleMs = 10 * 60_000;
const maxFreshTries = 3;

/** The instances of one function: started on demand, kept warm, each given one invocation at a time. */
export function createPool(definition: FunctionDefinition, options: PoolOptions): FunctionPool {
  const onChange = options.onChange ?? (() => {});
  const all = new Set<Instance>();
  const idle: { instance: Instance; timer: NodeJS.Timeout }[] = [];
  const waiting: (() => void)[] = [];
  let reserved = 0;
  let stopped = false;
  let onEmpty: (() => void) | undefined;

  const start = () => {
    const instance = startInstance(definition, {
      logFile: options.logFile,
      log: options.log,
      onEnd: () => {
        all.delete(instance);
        const at = idle.findIndex((entry) => entry.instance === instance);
        if (at >= 0) clearTimeout(idle.splice(at, 1)[0]?.timer);
        if (all.size === 0) onEmpty?.();
        onChange();
      },
    });
    all.add(instance);
    return instance;
  };
  // The one used last is used first, so that what a burst left over grows old and ends.
  const take = () => {
    const entry = idle.pop();
    clearTimeout(entry?.timer);
    return entry?.instance ?? start();
  };
  const giveBack = (instance: Instance) => {
    if (instance.ended || stopped) return;
    idle.push({ instance, timer: setTimeout(() => instance.kill(), idleMs).unref() });
  };

  const run = async (payload: string): Promise<InvokeOutcome> => {
    for (let attempt = 1; attempt <= maxFreshTries && !stopped; attempt += 1) {
      let instance: Instance;
      try {
        instance = take();
      } catch (error) {
        return failure(`${definition.name} does not start: ${messageOf(error)}`);
      }
      onChange();
      const outcome = await instance.invoke(payload);
      giveBack(instance);
      onChange();
      if (outcome.kind !== 'never-began') return outcome;
    }
    return failure(stopped ? 'the stack is stopping' : `${definition.name} ends before it takes an invocation`);
  };
  const release = () => {
    reserved -= 1;
    waiting.shift()?.();
  };
  const reservation = (): Reservation => {
    let held = true;
    return {
      invoke: run,
      release() {
        if (held) release();
        held = false;
      },
    };
  };

  const pool: FunctionPool = {
    definition,
    async reserve(signal) {
      signal?.throwIfAborted();
      if (reserved < definition.maxInstances) {
        reserved += 1;
        return reservation();
      }
      return new Promise((resolve, reject) => {
        const grant = () => {
          signal?.removeEventListener('abort', giveUp);
          reserved += 1;
          resolve(reservation());
        };
        const giveUp = () => {
          waiting.splice(waiting.indexOf(grant), 1);
          reject(signal?.reason);
        };
        waiting.push(grant);
        signal?.addEventListener('abort', giveUp, { once: true });
      });
    },
    async invoke(payload, signal) {
      const place = await pool.reserve(signal);
      try {
        return await place.invoke(payload);
      } finally {
        place.release();
      }
    },
    instances: () =>
      [...all].map((instance) => ({ pid: instance.pid, busy: !idle.some((entry) => entry.instance === instance) })),
    async stop() {
      stopped = true;
      if (all.size === 0) return;
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      for (const instance of all) instance.kill();
      await empty;
    },
  };
  return pool;
}

function failure(errorMessage: string): InvokeOutcome {
  return { kind: 'failed', payload: JSON.stringify({ errorType: 'Runtime.ExitError', errorMessage }) };
}
