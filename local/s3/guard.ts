import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type Listening, listenOnLoopback, readAll } from '../listen.ts';
import { BadDigest, checkedBody, isChecksum } from './checked-body.ts';
import { type Credentials, checkPresigned, denied } from './presigned.ts';
import { type Refusal, refuse } from './refusal.ts';
import { Tags } from './tags.ts';

const hopByHop = new Set(['connection', 'keep-alive', 'expect', 'transfer-encoding']);
const maxTaggingBytes = 10_000;
const conflict: Refusal = {
  status: 409,
  code: 'ConditionalRequestConflict',
  message: 'A conflicting conditional operation is in progress against this resource.',
};
const exists: Refusal = {
  status: 412,
  code: 'PreconditionFailed',
  message: 'At least one of the pre-conditions you specified did not hold',
};

/**
 * Stands before an S3 server that is less strict than S3, and does what that one leaves out: it checks presigned URLs, wants `x-amz-checksum-sha256` to be
 * that of the bytes and stores nothing else, refuses `If-None-Match: *` where there is an object, keeps tags, and answers `response-…` parameters. Bytes
 * go through it as they come. Who sends neither a signed URL nor an `Authorization` is refused; the signature of the latter is not checked.
 */
export function startS3Guard(target: { readonly port: number }, credentials: Credentials): Promise<Listening> {
  const guard = new Guard(target, credentials);
  const server = createServer();
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    guard.handle(request, response).catch(() => {
      refuse(response, { status: 503, code: 'ServiceUnavailable', message: 'Please reduce your request rate.' });
    });
  };
  server.on('request', handle);
  // So that what is refused is refused before its bytes are sent.
  server.on('checkContinue', handle);
  server.requestTimeout = 0;
  return listenOnLoopback(server, 0);
}

class Guard {
  readonly #target: { readonly port: number };
  readonly #credentials: Credentials;
  readonly #tags = new Tags();
  /** Objects that are being written on the condition that there are none. */
  readonly #writing = new Set<string>();

  constructor(target: { readonly port: number }, credentials: Credentials) {
    this.#target = target;
    this.#credentials = credentials;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#checkCaller(request);
    if (refusal !== undefined) return this.#refuse(request, response, refusal);
    const { path, query } = partsOf(request);
    if (query.has('tagging')) return this.#tagging(request, response, path);
    if (request.method === 'PUT' && isObject(path)) return this.#put(request, response, path, query);
    await this.#forward(request, response, query);
  }

  #checkCaller(request: IncomingMessage): Refusal | undefined {
    const { query } = partsOf(request);
    if (query.has('X-Amz-Signature') || query.has('X-Amz-Algorithm')) {
      const { method = '', url = '', headers } = request;
      return checkPresigned({ method, url, headers }, this.#credentials, Date.now());
    }
    return request.headers.authorization === undefined ? denied('Access Denied') : undefined;
  }

  async #put(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): Promise<void> {
    const { headers } = request;
    const checksum = headers['x-amz-checksum-sha256'];
    if (checksum !== undefined && (typeof checksum !== 'string' || !isChecksum(checksum))) {
      const message = 'Value for x-amz-checksum-sha256 header is invalid.';
      return this.#refuse(request, response, { status: 400, code: 'InvalidRequest', message });
    }
    if (checksum !== undefined && headers['content-encoding']?.includes('aws-chunked')) {
      const message = 'A checksum in a header is not supported here for a body in chunks.';
      return this.#refuse(request, response, { status: 501, code: 'NotImplemented', message });
    }
    const condition = headers['if-none-match'];
    if (condition === undefined) return this.#write(request, response, path, query, checksum);
    if (condition !== '*') {
      const message = 'A header you provided implies functionality that is not implemented';
      return this.#refuse(request, response, { status: 501, code: 'NotImplemented', message });
    }
    if (this.#writing.has(path)) return this.#refuse(request, response, conflict);
    this.#writing.add(path);
    try {
      if (await this.#has(path)) return this.#refuse(request, response, exists);
      await this.#write(request, response, path, query, checksum);
    } finally {
      this.#writing.delete(path);
    }
  }

  async #write(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
    checksum: string | undefined,
  ): Promise<void> {
    try {
      const status = await this.#forward(request, response, query, checksum);
      if (status === 200) this.#tags.written(path, [request.headers['x-amz-tagging']].flat()[0]);
    } catch (error) {
      if (!(error instanceof BadDigest)) throw error;
      this.#refuse(request, response, { status: 400, code: 'BadDigest', message: error.message });
    }
  }

  async #tagging(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (!(await this.#has(path))) {
      const message = 'The specified key does not exist.';
      return this.#refuse(request, response, { status: 404, code: 'NoSuchKey', message });
    }
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/xml' }).end(this.#tags.get(path));
      return;
    }
    const body = request.method === 'PUT' ? (await readAll(request, maxTaggingBytes)).toString() : '';
    this.#tags.put(path, body);
    response.writeHead(request.method === 'PUT' ? 200 : 204).end();
  }

  async #has(path: string): Promise<boolean> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = send({ port: this.#target.port, host: '127.0.0.1', method: 'HEAD', path, agent: false }, resolve);
      sent.on('error', reject);
      sent.end();
    });
    answer.resume();
    return answer.statusCode === 200;
  }

  /** Both bodies go through; rejects with `BadDigest` where the request's is not what `checksum` says, and the store has not had its end. */
  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
    checksum?: string,
  ): Promise<number> {
    const { method, url: path, headers } = request;
    const target = { port: this.#target.port, host: '127.0.0.1', agent: false as const };
    const sent = send({ ...target, method, path, headers: endToEnd(headers) });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve);
      sent.on('error', reject);
    });
    answered.catch(() => undefined);
    if (headers.expect !== undefined) response.writeContinue();
    const body = checksum === undefined ? pipeline(request, sent) : pipeline(request, checkedBody(checksum), sent);
    // The store may answer, and hang up, before it has read everything: then its answer is the one that counts.
    const answer = await Promise.race([answered, body.then(() => answered)]);
    const overrides = [...query].filter(([name]) => name.startsWith('response-'));
    response.writeHead(answer.statusCode ?? 502, {
      ...endToEnd(answer.headers),
      ...Object.fromEntries(overrides.map(([name, value]) => [name.slice('response-'.length), value])),
    });
    await pipeline(answer, response);
    return answer.statusCode ?? 502;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    // What still comes is read and dropped: a client that is still sending would not hear the answer otherwise.
    request.resume();
    refuse(response, refusal, request.method === 'HEAD');
  }
}

/** Without those that are about one connection. */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name)));
}

function partsOf({ url = '/' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const at = url.indexOf('?');
  return at === -1
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, at), query: new URLSearchParams(url.slice(at + 1)) };
}

/** `/bucket/key`, not a bucket alone. */
function isObject(path: string): boolean {
  return /^\/[^/]+\/./.test(path);
}
