import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, serviceFolder, withRemoval } from './place.ts';
import { runService, type Service, type ServiceOptions } from './service.ts';

const lastSlot = 16_383;

/**
 * A real redis-server as a cluster of one node that holds every slot, for clients that speak the cluster protocol.
 * With a dataDir it writes an append-only file. It never evicts.
 */
export async function startRedis(options: ServiceOptions & { password?: string } = {}): Promise<Service> {
  const { folder, remove } = serviceFolder('redis', options.dataDir);
  const clusterPort = await freePort();
  const settings = (port: number) =>
    [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir "${folder}"`,
      `appendonly ${options.dataDir === undefined ? 'no' : 'yes'}`,
      'save ""',
      'maxmemory-policy noeviction',
      'cluster-enabled yes',
      'cluster-config-file nodes.conf',
      `cluster-port ${clusterPort}`,
      'cluster-announce-ip 127.0.0.1',
      ...(options.password === undefined ? [] : [`requirepass "${options.password.replaceAll(/["\\]/g, '\\$&')}"`]),
      '',
    ].join('\n');
  try {
    const service = await runService(
      {
        name: 'redis',
        command: 'redis-server',
        args: () => ['-'],
        // Through stdin, so that the password is in no command line.
        stdin: settings,
        check: (port) => joinCluster(port, options.password),
        readyWithinMs: 20_000,
        whenMissing:
          'redis-server is not on PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis)',
      },
      { ...options, logFile: options.logFile ?? join(folder, 'redis.log') },
    );
    return withRemoval(service, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

/** Gives the node all slots when it has none; rejects until it says that the cluster works, 2 s after it began. */
async function joinCluster(port: number, password: string | undefined): Promise<void> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    ...(password === undefined ? {} : { password }),
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    commandTimeout: 1_000,
    retryStrategy: () => null,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const info = String(await client.call('CLUSTER', 'INFO'));
    if (info.includes('cluster_slots_assigned:0')) await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', String(lastSlot));
    if (!info.includes('cluster_state:ok')) throw new Error('the cluster is not ready yet');
  } finally {
    client.disconnect();
  }
}
