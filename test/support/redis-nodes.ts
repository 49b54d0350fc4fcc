import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../local/services/place.ts';

const lastSlot = 16_383;
const withinMs = 15_000;

/** One redis-server in cluster mode. Nothing starts it again: what a test ends stays ended until it says so. */
export class RedisNode {
  readonly port: number;
  readonly busPort: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'redis-node-'));
  #process: ReturnType<typeof spawn> | undefined;
  #client: Redis | undefined;

  private constructor(port: number, busPort: number) {
    this.port = port;
    this.busPort = busPort;
  }

  static async start(settings: readonly string[] = []): Promise<RedisNode> {
    const node = new RedisNode(await freePort(), await freePort());
    await node.restart(settings);
    return node;
  }

  /** A client that says at once what is wrong. */
  get client(): Redis {
    if (this.#client !== undefined) return this.#client;
    const options = { retryStrategy: () => 50, maxRetriesPerRequest: 0, enableReadyCheck: false };
    this.#client = new Redis({ ...options, port: this.port, host: '127.0.0.1' });
    this.#client.on('error', () => undefined);
    return this.#client;
  }

  /** Starts the process, on what it has on disk; with `ready: false` it may still be loading that. */
  async restart(settings: readonly string[] = [], { ready = true } = {}): Promise<void> {
    const child = spawn('redis-server', ['-'], { cwd: this.#folder, stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin?.end(this.#config(settings));
    this.#process = child;
    await until(async () => !ready || (await this.client.ping()) === 'PONG');
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    this.#client?.disconnect();
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async info(field: string): Promise<string> {
    const text = `${await this.client.call('CLUSTER', 'INFO')}${await this.client.info('replication')}`;
    return new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';
  }

  async id(): Promise<string> {
    return String(await this.client.call('CLUSTER', 'MYID'));
  }

  #config(settings: readonly string[]): string {
    return [
      'bind 127.0.0.1',
      `port ${this.port}`,
      `cluster-port ${this.busPort}`,
      `dir "${this.#folder}"`,
      'save ""',
      'maxmemory-policy noeviction',
      'cluster-enabled yes',
      'cluster-config-file nodes.conf',
      'cluster-announce-ip 127.0.0.1',
      'cluster-node-timeout 1000',
      'cluster-replica-validity-factor 0',
      'repl-diskless-sync-delay 0',
      'repl-ping-replica-period 1',
      ...settings,
      '',
    ].join('\n');
  }
}

export type RedisCluster = { readonly masters: RedisNode[]; readonly replicas: RedisNode[]; stop(): Promise<void> };

/** Masters that share the slots evenly, and as many replicas as asked, one for each of the first masters. Up in about 3 s. */
export async function startCluster(options: { masters: number; replicas?: number }): Promise<RedisCluster> {
  const all: RedisNode[] = await Promise.all(
    Array.from({ length: options.masters + (options.replicas ?? 0) }, () => RedisNode.start()),
  );
  const [masters, replicas] = [all.slice(0, options.masters), all.slice(options.masters)];
  const share = Math.ceil((lastSlot + 1) / options.masters);
  for (const [at, { client }] of masters.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', at * share, Math.min(lastSlot, (at + 1) * share - 1));
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
  }
  for (const { client } of all.slice(1))
    await client.call('CLUSTER', 'MEET', '127.0.0.1', all[0]?.port ?? 0, all[0]?.busPort ?? 0);
  await until(async () => (await every(all, 'cluster_known_nodes')).every((known) => Number(known) === all.length));
  for (const [at, { client }] of replicas.entries())
    await until(async () => (await client.call('CLUSTER', 'REPLICATE', await idAt(masters, at))) === 'OK');
  await until(async () => (await every(all, 'cluster_state')).every((state) => state === 'ok'));
  await until(async () => (await every(replicas, 'master_link_status')).every((link) => link === 'up'));
  return {
    masters,
    replicas,
    async stop() {
      await Promise.all(all.map((node) => node.stop()));
    },
  };
}

/** Which of the nodes has the slot of a key. */
export async function ownerOf(nodes: readonly RedisNode[], key: string): Promise<RedisNode> {
  for (const node of nodes) {
    const found = await node.client.exists(key).catch(() => undefined);
    if (found !== undefined) return node;
  }
  throw new Error(`expected an owner of ${key}`);
}

/** Tries until it is true; an error counts as not yet. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + withinMs;
  for (;;) {
    const state = await isTrue().catch((error: unknown) => error);
    if (state === true) return;
    if (Date.now() > end) throw new Error(`expected it within ${withinMs} ms`, { cause: state });
    await sleep(20);
  }
}

async function every(nodes: readonly RedisNode[], field: string): Promise<string[]> {
  return Promise.all(nodes.map((node) => node.info(field)));
}

async function idAt(nodes: readonly RedisNode[], at: number): Promise<string> {
  const node = nodes[at];
  if (node === undefined) throw new Error(`expected a master for replica ${at}`);
  return node.id();
}
