import { Agent, createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Call, Connection, Relay, Reply, Watch } from './call.ts';
import { connectionOf, type FindOwner } from './connection.ts';
import { listen } from './listen.ts';

type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer };

/** What is read in the requests and replies of one service. */
export type HttpCalls = {
  /** `target` is the header X-Amz-Target, '' where there is none. */
  readCall(target: string, body: string): Call;
  readReply(status: number, body: string): Reply;
  /** Resolves when what a reply to `target` acknowledges is on disk; rejects when that cannot be told. */
  committed?(target: string): Promise<void>;
};

/** Stands in front of an HTTP service on `targetPort`. What a client that gave up has sent is carried out all the same, as by a network. */
export async function startHttpProxy(
  targetPort: number,
  calls: HttpCalls,
  watch: Watch,
  ownerOf: FindOwner,
): Promise<Relay> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const connections = new WeakMap<Socket, Connection>();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readAll(request);
    const connection = connections.get(request.socket) ?? { owner: () => undefined };
    const target = String(request.headers['x-amz-target'] ?? '');
    const call = calls.readCall(target, body.toString('utf8'));
    if ((await watch.before(call, connection)) === 'drop') return void request.socket.destroy();
    const answer = await forward(agent, targetPort, request, body);
    if (answer.status === 200) await calls.committed?.(target);
    const reply = calls.readReply(answer.status, answer.body.toString('utf8'));
    if ((await watch.after(call, reply, connection)) === 'drop') return void request.socket.destroy();
    if (request.socket.destroyed) return;
    const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers } = answer.headers;
    response.writeHead(answer.status, { ...headers, 'content-length': answer.body.length });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  };
  const server = createServer((request, response) => {
    // A service that is away is a connection that breaks.
    serve(request, response).catch(() => request.socket.destroy());
  });
  server.on('connection', (socket) => connections.set(socket, connectionOf(socket, ownerOf)));
  server.keepAliveTimeout = 60_000;
  const listening = await listen(server);
  return {
    ...listening,
    cut() {
      listening.cut();
      for (const sockets of [agent.sockets, agent.freeSockets])
        for (const socket of Object.values(sockets).flat()) socket?.destroy();
    },
    async close() {
      await listening.close();
      agent.destroy();
    },
  };
}

function forward(agent: Agent, port: number, request: IncomingMessage, body: Buffer): Promise<Answer> {
  // Compressed replies could not be read.
  const { 'accept-encoding': _, connection: __, 'transfer-encoding': ___, ...headers } = request.headers;
  return new Promise((resolve, reject) => {
    const sent = sendRequest(
      {
        agent,
        host: '127.0.0.1',
        port,
        method: request.method,
        path: request.url,
        headers: { ...headers, 'content-length': body.length },
      },
      (answer) => {
        readAll(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: bytes }),
          reject,
        );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
