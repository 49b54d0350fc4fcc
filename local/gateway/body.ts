import type { IncomingMessage } from 'node:http';

export type Body = { kind: 'complete'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'gone' };

/** Reads a request's body, however it is sent. Past `maxBytes` it stops reading; `gone`: the client left in the middle. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve({ kind: 'too-large' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (body: Body) => {
      request.off('data', onData);
      resolve(body);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        request.pause();
        settle({ kind: 'too-large' });
      } else chunks.push(chunk);
    };
    request.on('data', onData);
    request.once('end', () => settle({ kind: 'complete', bytes: Buffer.concat(chunks) }));
    request.once('error', () => settle({ kind: 'gone' }));
    request.once('close', () => settle({ kind: 'gone' }));
  });
}
