import type { Socket } from 'node:net';
import type { Owner, Relay, ServiceName, Watch } from './call.ts';
import { type CommitBarrier, openCommitBarrier } from './commit-barrier.ts';
import { readDynamoDbCall, readDynamoDbReply } from './dynamodb-call.ts';
import { startHttpProxy } from './http.ts';
import { Owners } from './owners.ts';
import { startRedisProxy } from './redis.ts';
import { sqsCalls } from './sqs-call.ts';

export type RelayOptions = {
  readonly watch: Watch;
  /** The function processes that run now. */
  functions(): readonly Owner[];
  /** The texts of the scripts that functions may call, by name. */
  scripts(): Promise<Readonly<Record<string, string>>>;
};

/** The proxies between functions and services; each is opened when its service is up. */
export class Relays {
  readonly #options: RelayOptions;
  readonly #owners: Owners;
  readonly #open = new Map<ServiceName, Relay>();
  #barrier: CommitBarrier | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#owners = new Owners(() => options.functions().map(({ pid }) => pid));
  }

  /** Answers the port functions are to be told in the place of `port`. */
  async open(service: ServiceName, port: number): Promise<number> {
    const relay = await this.#start(service, port);
    this.#open.set(service, relay);
    return relay.port;
  }

  cut(service: ServiceName): void {
    this.#open.get(service)?.cut();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((relay) => relay.close()));
    this.#barrier?.close();
  }

  async #start(service: ServiceName, port: number): Promise<Relay> {
    const { watch, scripts } = this.#options;
    const find = (socket: Socket, openSince: number) => this.#ownerOf(service, socket, openSince);
    switch (service) {
      case 'redis':
        return startRedisProxy(port, await scripts(), watch, find);
      case 'sqs':
        return startHttpProxy(port, sqsCalls(), watch, find);
      case 'dynamodb': {
        const barrier = await openCommitBarrier(port);
        this.#barrier = barrier;
        const committed = async (target: string) =>
          target.endsWith('.TransactWriteItems') ? barrier.pass() : undefined;
        const calls = { readCall: readDynamoDbCall, readReply: readDynamoDbReply, committed };
        return startHttpProxy(port, calls, watch, find);
      }
    }
  }

  #ownerOf(service: ServiceName, socket: Socket, openSince: number): Owner | undefined {
    const pid = this.#owners.find(socket.remotePort ?? 0, this.#open.get(service)?.port ?? 0, openSince);
    return this.#options.functions().find((each) => each.pid === pid);
  }
}
