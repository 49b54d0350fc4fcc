// A heartbeat thread that ends by an error when it has begun; the one that replaces it lives.
import { parentPort, threadId } from 'node:worker_threads';

if (threadId > 1) await import('./thread.ts');
else {
  parentPort?.once('message', () => {
    throw new Error('out of order');
  });
}
