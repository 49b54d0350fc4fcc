import { isTerminal } from '../domain/task-record.ts';
import { unreachable } from '../domain/unreachable.ts';
import { Unavailable } from '../ports.ts';
import type { Deps } from './deps.ts';
import type { Held } from './work.ts';

/**
 * Extends the attempt's slots and its message's invisibility every `heartbeatMs`. Calls `onLost` once: when Redis says the lease is lost, when the
 * task has ended otherwise, or when no beat got through for a whole lease.
 */
export function heartbeat(
  deps: Deps,
  { record, key, pool, receiptHandle }: Held,
  onLost: () => void,
): { lost(): boolean; stop(): void } {
  let lost = false;
  let stopped = false;
  let goodUntil = performance.now() + pool.leaseMs;
  const lose = (because: string) => {
    if (lost || stopped) return;
    lost = true;
    deps.log.warn('lease lost', { taskId: record.id, attempt: key.attempt, because });
    onLost();
  };

  async function beat(): Promise<void> {
    const begunAt = performance.now();
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
    goodUntil = begunAt + pool.leaseMs;
    await deps.messages.setVisibility(pool.name, receiptHandle, pool.leaseMs);
  }

  const timer = setInterval(() => {
    beat().catch((error: unknown) => {
      deps.log.warn('heartbeat had no answer', {
        taskId: record.id,
        reason: String(error),
        service: error instanceof Unavailable ? error.service : '',
      });
      if (performance.now() > goodUntil) lose('no heartbeat got through');
    });
  }, pool.heartbeatMs);

  return {
    lost: () => lost,
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
