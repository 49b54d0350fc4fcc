import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StackError } from '../stack-error.ts';
import type { Service } from './service.ts';

/** A loopback port that is free now. Somebody may take it first, so a start that finds it taken asks again. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new StackError('no free port');
  return address.port;
}

/** A folder for a service: the one given, or a temporary one and the way to remove it. */
export function serviceFolder(name: string, dataDir: string | undefined): { folder: string; remove: () => void } {
  if (dataDir !== undefined) return { folder: dataDir, remove: () => {} };
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The same service, whose folder goes when it stops. */
export function withRemoval(service: Service, remove: () => void): Service {
  return {
    port: service.port,
    get pid() {
      return service.pid;
    },
    async stop() {
      await service.stop();
      remove();
    },
  };
}
