import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type RunningStack, startStack } from '../../local/stack.ts';
import { copyProject } from './project.ts';
import type { Relay, ServiceName, Watch } from './proxy/call.ts';
import { type CommitBarrier, openCommitBarrier } from './proxy/commit-barrier.ts';
import { readDynamoDbCall, readDynamoDbReply } from './proxy/dynamodb-call.ts';
import { type HttpCalls, startHttpProxy } from './proxy/http.ts';
import { Owners } from './proxy/owners.ts';
import { startRedisProxy } from './proxy/redis.ts';
import { sqsCalls } from './proxy/sqs-call.ts';

/** A stack of the project with a proxy between its functions and each service. */
export type Stand = {
  readonly stack: RunningStack;
  readonly proxies: Readonly<Record<ServiceName, Relay>>;
  /** The copy of the project that runs. */
  readonly projectDir: string;
  /** Runs a function now; answers what it answered. */
  invoke(name: string, signal: AbortSignal): Promise<unknown>;
  /** Stops everything and removes its folder. */
  stop(): Promise<void>;
};

export type StandOptions = {
  /** The project's folder. */
  readonly source: string;
  readonly watch: Watch;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  readonly keep?: boolean;
};

/** Starts it in a temporary folder. When it rejects, nothing is left running and the folder is gone. */
export async function startStand({ source, watch, log, signal, keep = false }: StandOptions): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-chaos-'));
  const projectDir = join(folder, 'project');
  const proxies: Partial<Record<ServiceName, Relay>> = {};
  let stack: RunningStack | undefined;
  let barrier: CommitBarrier | undefined;
  const stop = async () => {
    await stack?.stop();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    barrier?.close();
    if (keep) log(`kept ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  };
  const functions = () => stack?.state().functions ?? [];
  const owners = new Owners(() => functions().map(({ pid }) => pid));
  const ownerAt = (port: () => number) => (socket: Socket, openSince: number) => {
    const pid = owners.find(socket.remotePort ?? 0, port(), openSince);
    const name = functions().find((each) => each.pid === pid)?.name;
    // `weir-<stage>-<kind>`, for workers with their pool behind it.
    return pid === undefined || name === undefined ? undefined : { pid, kind: name.split('-')[2] ?? name };
  };
  const startProxy = async (service: ServiceName, target: number): Promise<Relay> => {
    const owner = ownerAt(() => proxies[service]?.port ?? 0);
    if (service === 'redis') return startRedisProxy(target, await scriptsOf(projectDir), watch, owner);
    if (service === 'sqs') return startHttpProxy(target, sqsCalls(), watch, owner);
    barrier = await openCommitBarrier(target);
    return startHttpProxy(target, dynamoDbCalls(barrier), watch, owner);
  };
  try {
    copyProject(source, projectDir);
    stack = await startStack({
      projectDir,
      dataDir: join(folder, 'data'),
      port: 0,
      log,
      signal,
      async portForFunctions(name, port) {
        // No point is in the talk with S3.
        if (name === 's3') return port;
        const proxy = await startProxy(name, port);
        proxies[name] = proxy;
        return proxy.port;
      },
    });
    return { stack, proxies: whole(proxies), projectDir, invoke: invoker(stack), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function scriptsOf(projectDir: string): Promise<Record<string, string>> {
  const file = pathToFileURL(join(projectDir, 'lib/adapters/redis/sources.generated.ts')).href;
  const { sources } = (await import(file)) as typeof import('../../lib/adapters/redis/sources.generated.ts');
  return sources;
}

function dynamoDbCalls(barrier: CommitBarrier): HttpCalls {
  return {
    readCall: readDynamoDbCall,
    readReply: readDynamoDbReply,
    committed: async (target) => (target.endsWith('.TransactWriteItems') ? barrier.pass() : undefined),
  };
}

function whole(proxies: Partial<Record<ServiceName, Relay>>): Record<ServiceName, Relay> {
  const { redis, dynamodb, sqs } = proxies;
  if (redis === undefined || dynamodb === undefined || sqs === undefined)
    throw new Error(`expected three services, the stack started ${Object.keys(proxies).join(', ')}`);
  return { redis, dynamodb, sqs };
}

function invoker(stack: RunningStack): Stand['invoke'] {
  return async (name, signal) => {
    const base = `http://127.0.0.1:${stack.state().lambda?.port}/2015-03-31/functions`;
    const full = stack.state().functions.find((each) => each.name.endsWith(`-${name}`))?.name ?? `weir-main-${name}`;
    const answer = await fetch(`${base}/${full}/invocations`, { method: 'POST', body: '{}', signal });
    return answer.json();
  };
}
