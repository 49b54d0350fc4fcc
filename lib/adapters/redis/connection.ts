import type { Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { Cluster, type ClusterOptions } from 'ioredis';
import { $ZodError } from 'zod/v4/core';
import type { Log } from '../../ports.ts';
import { Unavailable } from '../../ports.ts';
import type { Script } from './script.ts';

export type RedisOptions = {
  /** `rediss://host:port` or `redis://host:port`, any node of the cluster. */
  readonly url: string;
  readonly password?: (() => Promise<string>) | undefined;
  /** Ceiling of one call with its connect. Default 1,000. */
  readonly deadlineMs?: number | undefined;
  readonly log: Log;
};

/** A client kept between calls may have died while its function was frozen; past this idle time it is asked first. */
const idleMs = 30_000;
/**
 * A lost or wrong node is asked again this often, after 10, 20, 40 … ms: while a replica takes over, every node points elsewhere for some ten
 * milliseconds. A server that is gone costs its caller 150 ms, one that is frozen the deadline.
 */
const mostTries = 5;
const firstPauseMs = 10;
/** Commands in one write: of 8 to 25 none was slower by more than noise (`npm run bench:rates`); all in one, and client and server wait for each other. */
const mostTogether = 16;
/** Answers of a node that is not the one to ask, or not yet: the same call is right on a fresh connection. */
const passing = /^(READONLY|MOVED|ASK|LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|UNBLOCKED|OOM|BUSY|MISCONF|NOREPLICAS)/;

/**
 * A cluster client that never waits longer than its deadline and never sends late: no offline queue, no automatic resend, and after a time-out
 * or a lost connection the client is thrown away. Scripts are idempotent by their holder ids, so repeats within the deadline are safe.
 */
export class RedisConnection {
  readonly #options: RedisOptions;
  #client: Promise<Cluster> | undefined;
  /** What `#client` came to: most calls need not wait for a promise. */
  #connected: Cluster | undefined;
  #usedAt = 0;
  /** Commands sent in this turn of the event loop, and the streams that hold them back. */
  #sent = 0;
  #corked: readonly Writable[] = [];

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Ceiling of one call with its connect. */
  get deadlineMs(): number {
    return this.#options.deadlineMs ?? 1_000;
  }

  /** Runs a script by its hash, by its text where a node does not know it yet. Throws `Unavailable` past the deadline. */
  run<Input, Reply>(script: Script<Input, Reply>, input: Input): Promise<Reply> {
    const keys = script.keys(input);
    const args = [keys.length, ...keys, ...script.args(input)];
    const call = script.packed ? 'callBuffer' : 'call';
    const send = (client: Cluster) => {
      this.#sendTogether(client);
      return client[call]('evalsha', script.sha1, ...args).then(
        (raw) => script.reply(raw, input),
        async (error: unknown) => {
          if (!isReply(error, 'NOSCRIPT')) throw error;
          return script.reply(await client[call]('eval', script.source, ...args), input);
        },
      );
    };
    return this.call(script.name, send, script.once ? 1 : mostTries);
  }

  /** Runs `command` on a live client within the deadline; again on a new connection while the last was lost. */
  async call<Reply>(
    name: string,
    command: (client: Cluster) => Promise<Reply>,
    triesAllowed = mostTries,
  ): Promise<Reply> {
    const deadline = performance.now() + this.deadlineMs;
    for (let tries = 1; ; tries++) {
      try {
        const live = this.#live();
        return await within(deadline - performance.now(), live ? command(live) : this.#ready().then(command));
      } catch (error) {
        if (!isOutage(error)) throw error;
        this.discard();
        const pauseMs = firstPauseMs * 2 ** (tries - 1);
        if (tries >= triesAllowed || performance.now() + pauseMs >= deadline || error instanceof TimeOut) {
          throw new Unavailable('redis', `${name} had no answer (${error.message})`, error);
        }
        await setTimeout(pauseMs);
      }
    }
  }

  discard(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#connected = undefined;
    client?.then(
      (each) => each.disconnect(),
      () => undefined,
    );
  }

  #live(): Cluster | undefined {
    const now = performance.now();
    if (this.#connected === undefined || now - this.#usedAt > idleMs) return undefined;
    this.#usedAt = now;
    return this.#connected;
  }

  async #ready(): Promise<Cluster> {
    const idle = performance.now() - this.#usedAt;
    this.#client ??= this.#connect();
    const connecting = this.#client;
    const client = await connecting;
    if (idle > idleMs) await client.ping();
    if (this.#client === connecting) this.#connected = client;
    this.#usedAt = performance.now();
    return client;
  }

  /**
   * Commands of one turn of the event loop leave in few writes, of which each is a system call at both ends. The first leaves at once: it is mostly
   * alone.
   */
  #sendTogether(client: Cluster): void {
    this.#sent++;
    if (this.#sent === 1) {
      process.nextTick(this.#endTurn);
    } else if (this.#sent % mostTogether === 2) {
      this.#uncork();
      this.#corked = client.nodes('master').flatMap(({ stream }) => stream ?? []);
      for (const stream of this.#corked) stream.cork();
    }
  }

  readonly #endTurn = (): void => {
    this.#uncork();
    this.#sent = 0;
  };

  #uncork(): void {
    for (const stream of this.#corked) stream.uncork();
    this.#corked = [];
  }

  async #connect(): Promise<Cluster> {
    const { hostname, port, protocol } = new URL(this.#options.url);
    const password = await this.#options.password?.();
    const client = new Cluster([{ host: hostname, port: Number(port) }], clusterOptions(protocol, password));
    client.on('error', (error) => this.#options.log.warn('redis connection', { reason: reasonOf(error) }));
    try {
      await client.connect();
    } catch (error) {
      client.disconnect();
      throw error;
    }
    return client;
  }
}

/** A cluster client keeps to itself why no node would have it: a refused password, for one. */
function reasonOf(error: Error): string {
  const last = 'lastNodeError' in error ? error.lastNodeError : undefined;
  return last instanceof Error ? last.message : String(error);
}

function clusterOptions(protocol: string, password: string | undefined) {
  const never = { enableOfflineQueue: false, autoResubscribe: false } as const;
  return {
    ...never,
    lazyConnect: true,
    clusterRetryStrategy: () => null,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 0,
    maxRedirections: 3,
    slotsRefreshTimeout: 900,
    dnsLookup: (address, callback) => callback(null, address),
    redisOptions: {
      ...never,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 900,
      ...(password === undefined ? {} : { password }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  } satisfies ClusterOptions;
}

class TimeOut extends Error {
  override readonly name = 'TimeOut';
}

function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new TimeOut(`no answer in ${Math.round(ms)} ms`));
    const timer = globalThis.setTimeout(late, Math.max(0, ms));
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

/** Programming errors (wrong type, bad arguments, cross slot, an unexpected reply) are not outages: they are thrown as they are. */
function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return passing.test(error.message);
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof $ZodError);
}
