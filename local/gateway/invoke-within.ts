import type { InvokeOutcome } from '../lambda/instance.ts';
import type { FunctionPool } from '../lambda/pool.ts';

/** Past the limit the client is answered and the function runs on; an invocation that still waits for its turn is dropped. */
export async function invokeWithin(
  pool: Pick<FunctionPool, 'invoke'>,
  event: string,
  timeoutMs: number,
): Promise<InvokeOutcome | { kind: 'timed-out' }> {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<{ kind: 'timed-out' }>((resolve) => {
    timer = setTimeout(() => {
      resolve({ kind: 'timed-out' });
      limit.abort();
    }, timeoutMs);
  });
  const invoked = pool.invoke(event, limit.signal);
  invoked.catch(() => {});
  try {
    return await Promise.race([invoked, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
