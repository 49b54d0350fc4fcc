import { isTerminal } from '../domain/task-record.ts';
import { unreachable } from '../domain/unreachable.ts';
import { Unavailable } from '../ports.ts';
import type { Deps } from './deps.ts';
import type { Held } from './work.ts';

/**
 * Keeps the leases of attempts alive while their handlers run. `beat` returns at once; `onLost` is called at most once, with the reason, and not
 * after `stop`.
 */
export type Heart = { beat(held: Held, onLost: (because: string) => void): Beating };
export type Beating = { lost(): boolean; stop(): void };

export type HeartbeatDeps = Pick<Deps, 'gate' | 'records' | 'messages' | 'log' | 'metrics'>;

/** What a heartbeat tells: `beat`, the moment its last good beat began; `lost`, once, why there are no more. */
export type Pulse = { beat?(at: number): void; lost(because: string): void };

/** Milliseconds of the process's own clock, the same in each of its threads; `performance.now()` begins anew in each. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/**
 * Extends the attempt's slots and its message's invisibility every `heartbeatMs`, first that long after `goodAt`, when they were last known to be
 * held. It is lost when Redis says that the lease is, when the task has ended otherwise, or when no beat got through for a whole lease.
 */
export function heartbeat(
  deps: HeartbeatDeps,
  { record, key, pool, receiptHandle }: Held,
  pulse: Pulse,
  goodAt: number = monotonicMs(),
): Beating {
  let lost = false;
  let stopped = false;
  let goodUntil = goodAt + pool.leaseMs;
  let timer = setTimeout(tick, Math.max(0, goodAt + pool.heartbeatMs - monotonicMs()));

  function lose(because: string): void {
    if (lost || stopped) return;
    lost = true;
    clearTimeout(timer);
    deps.metrics.count('late_writes_total', 1, { write: 'heartbeat' });
    deps.log.warn('lease lost', { taskId: record.id, attempt: key.attempt, because });
    pulse.lost(because);
  }

  async function beat(): Promise<void> {
    const begunAt = monotonicMs();
    if (begunAt > goodUntil) return lose('no heartbeat got through');
    const reply = await deps.gate.extend({ ...record, nonce: key.holder, leaseMs: pool.leaseMs });
    switch (reply.kind) {
      case 'lost':
        return lose('another attempt, or too late');
      case 'rebuilding':
      case 'seatless': {
        const current = await deps.records.read(key);
        if (current === undefined || isTerminal(current.status)) return lose(current?.status ?? 'absent');
        break;
      }
      case 'extended':
        break;
      default:
        unreachable(reply);
    }
    if (stopped) return;
    goodUntil = begunAt + pool.leaseMs;
    pulse.beat?.(begunAt);
    await deps.messages.setVisibility(pool.name, receiptHandle, pool.leaseMs);
  }

  function tick(): void {
    timer = setTimeout(tick, pool.heartbeatMs);
    beat().catch((error: unknown) => {
      deps.log.warn('heartbeat had no answer', {
        taskId: record.id,
        reason: String(error),
        away: error instanceof Unavailable ? error.service : '',
      });
      if (monotonicMs() > goodUntil) lose('no heartbeat got through');
    });
  }

  return {
    lost: () => lost,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
