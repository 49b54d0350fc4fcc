// The process behind startSqsS3: `node sqs-s3-server.ts <port> [<data folder>]`. It ends with the process that forked it.
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
