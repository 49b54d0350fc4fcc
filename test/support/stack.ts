import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import * as z from 'zod';

const stateFile = z.object({
  url: z.string(),
  redis: z.object({ port: z.int(), pid: z.int(), password: z.string() }),
  lambda: z.object({ port: z.int() }),
  functions: z.array(z.object({ name: z.string(), pid: z.int(), busy: z.boolean() })),
});

export type Answer = { status: number; headers: Headers; body: Record<string, unknown> & { id?: string } };
export type LocalStack = Awaited<ReturnType<typeof startLocalStack>>;

/** `npm start` as a person runs it, in a process of its own with fresh data, driven over HTTP. */
export async function startLocalStack(environment: Readonly<Record<string, string>> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'weir-e2e-'));
  const child = spawn('node', ['local/main.ts'], {
    env: { ...process.env, PORT: '0', WEIR_DATA: dataDir, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Ready: ')) resolve();
      });
    }
    ended.then((code) => reject(new Error(`the stack ended with ${code}:\n${output}`)));
  });
  const state = () => stateFile.parse(JSON.parse(readFileSync(join(dataDir, 'stack.json'), 'utf8')));
  const { url, redis } = state();
  const client = new Redis({ port: redis.port, host: '127.0.0.1', password: redis.password });

  return {
    root: `${url}/api`,
    url: `${url}/api/v1`,
    redis: client,
    state,
    output: () => output,
    /** Starts a scheduled function now, by the stack's own Lambda API. */
    async invoke(name: string): Promise<unknown> {
      const answer = await fetch(`http://127.0.0.1:${state().lambda.port}/2015-03-31/functions/${name}/invocations`, {
        method: 'POST',
        body: '{}',
      });
      return answer.json();
    },
    async stop(): Promise<number | null> {
      client.disconnect();
      child.kill('SIGTERM');
      const code = await ended;
      rmSync(dataDir, { recursive: true, force: true });
      return code;
    },
  };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return send('POST', url, body, headers);
}

export async function send(
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const isForm = body instanceof FormData;
  const isText = typeof body === 'string' || body instanceof Uint8Array;
  return answerOf(
    await fetch(url, {
      method,
      body: isForm || isText ? (body as string) : JSON.stringify(body),
      headers: isForm ? headers : { 'content-type': 'application/json', ...headers },
    }),
  );
}

export async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(await fetch(url, { headers }));
}

/** Waits for the task's end by short long polls: the local stack has eight instances for all who wait. */
export async function end(stack: LocalStack, id: string | undefined): Promise<Answer['body']> {
  for (;;) {
    const { body } = await get(`${stack.url}/tasks/${id}?wait=1`);
    if (body.status === undefined) throw new Error(`expected a task, got ${JSON.stringify(body)}`);
    if (!['queued', 'running'].includes(String(body.status))) return body;
  }
}

/** A post from another loopback address, which is another client. */
export function postFrom(
  localAddress: string,
  url: string,
  body: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', localAddress, headers: { 'content-type': 'application/json' } },
      async (answer) => {
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk as Buffer);
        resolve({
          status: answer.statusCode ?? 0,
          body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
        });
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

async function answerOf(answer: Response): Promise<Answer> {
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Answer['body'],
  };
}
