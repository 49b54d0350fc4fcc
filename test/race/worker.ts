// One process of a race: `node worker.ts`, started by race.ts and told what to do over its channel.
import * as z from 'zod';
import { dynamoUploads } from '../../lib/adapters/dynamo/uploads.ts';
import { checkConfig } from '../../lib/config.ts';
import { day } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import type { AdmitDeps } from '../../lib/operations/deps.ts';
import type { Log } from '../../lib/ports.ts';
import { defineTask } from '../../lib/task.ts';
import { processDeps } from '../support/process-deps.ts';
import type { Start } from './start.ts';

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const perDay = { algorithm: 'token-bucket', periodMs: day } as const;
/** Eight processes share the cores of the machine with the servers: a second may not be enough to connect. */
const waitMs = 10_000;

/** As cold as a Lambda that has just started: nothing is connected before the first post asks. */
function openSystem({ limit, by, ...place }: Start): { deps: AdmitDeps; close(): void } {
  const weir = checkConfig({
    pools: { p: { running: by === 'pool' ? limit : 500, pending: 0 } },
    rates: by === 'pool' ? {} : { r: { identity: 'global', ...perDay, limit } },
    tasks: [defineTask({ api: 'g/a', pool: 'p', input: z.looseObject({}), timeoutMs: 1_000, run: async () => null })],
  });
  const { deps, client, close } = processDeps(place, weir, silent, waitMs);
  return { deps: { ...deps, uploads: dynamoUploads(client, place.table) }, close };
}

async function post({ weir, ...deps }: AdmitDeps, number: number): Promise<string> {
  const task = weir.tasks['g/a'];
  if (task === undefined) throw new Error('expected api g/a');
  const submission = { kind: 'read', content: { input: { number }, files: [], options: {} } } as const;
  const request = { tenant: `t${number % 5}`, ip: `192.0.2.${number % 7}`, task, submission } as const;
  const admission = await admit({ weir, ...deps }, request);
  return admission.kind === 'unavailable' ? `unavailable (${admission.reason})` : admission.kind;
}

let next: ReturnType<typeof openSystem> | undefined;

process.on('message', async (message: Start | { posts: number[] }) => {
  if ('stage' in message) {
    next?.close();
    next = openSystem(message);
    process.send?.('ready');
    return;
  }
  const { deps } = next ?? { deps: undefined };
  if (deps === undefined) throw new Error('expected a system to post to');
  const answers = await Promise.all(
    message.posts.map((number) => post(deps, number).catch((error: unknown) => `threw ${error}`)),
  );
  process.send?.({ answers });
});
process.once('disconnect', () => process.exit(0));
