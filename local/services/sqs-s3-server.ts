// The process behind startSqsS3: `node sqs-s3-server.ts <port> [<data folder>]`. It ends with the process that forked it.
import { subscribe } from 'node:diagnostics_channel';
import { Server } from 'node:net';
import { join } from 'node:path';
import { startFauxqs } from 'fauxqs';

const [port, dataDir] = process.argv.slice(2);

// The server always listens on 0.0.0.0, which would serve the whole network. In this process nothing may.
const listen = Server.prototype.listen;
Server.prototype.listen = function loopbackOnly(this: Server, ...given: unknown[]): Server {
  const [options, ...rest] = given;
  const local = typeof options === 'object' && options !== null ? { ...options, host: '127.0.0.1' } : options;
  return Reflect.apply(listen, this, [local, ...rest]);
};

// It takes 11 MiB a request; S3 takes 5 GB.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as {
    fastify: { addHook(name: 'onRoute', hook: (route: { bodyLimit?: number }) => void): void };
  };
  fastify.addHook('onRoute', (route) => {
    route.bodyLimit = 5_368_709_120;
  });
});

const server = await startFauxqs({
  port: Number(port),
  logger: false,
  ...(dataDir === undefined ? {} : { dataDir, s3StorageDir: join(dataDir, 's3') }),
});

const end = () => {
  // Long polls are still open; what matters is on disk already.
  setTimeout(() => process.exit(0), 500).unref();
  void server.stop().finally(() => process.exit(0));
};
process.once('disconnect', end);
process.once('SIGTERM', end);
