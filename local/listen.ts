import type { Server } from 'node:http';
import { StackError } from './stack-error.ts';

export type Listening = { port: number; close(): Promise<void> };

/** Binds a server to the loopback interface; port 0 takes any free one. A port in use is a StackError that says so. */
export async function listenOnLoopback(server: Server, port: number): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const inUse = 'code' in error && error.code === 'EADDRINUSE';
      reject(inUse ? new StackError(`port ${port} is in use: stop what uses it, or set PORT to another one`) : error);
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The whole body of a small request from this machine's own tools. */
export async function readAll(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw new StackError(`the body is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
