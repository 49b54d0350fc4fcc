import { connect, createServer, type Socket } from 'node:net';
import type { Call, Relay, Watch } from './call.ts';
import { connectionOf, type FindOwner } from './connection.ts';
import { listen } from './listen.ts';
import { redisCalls } from './redis-call.ts';
import { type Frame, RespReader } from './resp.ts';

/**
 * Stands in front of a Redis cluster of one node. A cluster client goes where `CLUSTER SLOTS` sends it, so that reply names this proxy's port in
 * the place of the server's. `scripts`: the texts of those that may be called, by name.
 */
export async function startRedisProxy(
  targetPort: number,
  scripts: Readonly<Record<string, string>>,
  watch: Watch,
  ownerOf: FindOwner,
): Promise<Relay> {
  const calls = redisCalls(scripts);
  const upstreams = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port: targetPort, noDelay: true });
    upstreams.add(upstream);
    upstream.once('close', () => upstreams.delete(upstream));
    join(client, upstream);
  });
  const listening = await listen(server);

  function join(client: Socket, upstream: Socket): void {
    const connection = connectionOf(client, ownerOf);
    const unanswered: Call[] = [];
    const drop = () => {
      client.destroy();
      upstream.destroy();
    };
    const request = async ({ raw, value }: Frame) => {
      const call = calls.readCall(value);
      if ((await watch.before(call, connection)) === 'drop') return drop();
      unanswered.push(call);
      upstream.write(raw);
    };
    const reply = async ({ raw, value, isPush }: Frame) => {
      const call = isPush ? undefined : unanswered.shift();
      if (call !== undefined && (await watch.after(call, calls.readReply(value), connection)) === 'drop') return drop();
      client.write(call?.name === 'cluster slots' ? renamed(raw) : raw);
    };
    pump(client, request, drop);
    pump(upstream, reply, drop);
    // What was sent before a client went away still reaches the server.
    client.once('close', () => upstream.end());
    upstream.once('close', () => client.destroy());
    upstream.on('error', drop);
  }

  function renamed(raw: Buffer): Buffer {
    return Buffer.from(raw.toString('latin1').replaceAll(`:${targetPort}\r\n`, `:${listening.port}\r\n`), 'latin1');
  }

  return {
    ...listening,
    cut() {
      listening.cut();
      for (const upstream of upstreams) upstream.destroy();
    },
    async close() {
      await listening.close();
      for (const upstream of upstreams) upstream.destroy();
    },
  };
}

/** Hands on whole values in their order, one at a time. */
function pump(from: Socket, take: (frame: Frame) => Promise<void>, giveUp: () => void): void {
  const reader = new RespReader();
  let last: Promise<void> = Promise.resolve();
  from.on('data', (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) last = last.then(() => take(frame)).catch(giveUp);
    } catch {
      giveUp();
    }
  });
}
