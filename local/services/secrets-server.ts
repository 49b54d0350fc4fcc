import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { type Listening, listenOnLoopback, readAll } from '../listen.ts';
import { messageOf } from '../stack-error.ts';
import type { Secrets } from './secrets.ts';

const maxBytes = 64 * 1024;
const requestSchema = z.object({ SecretId: z.string() });

/** Secrets Manager's JSON protocol, as far as reading a value goes: GetSecretValue. */
export async function startSecretsServer(secrets: Secrets): Promise<Listening> {
  const server = createServer((request, response) => {
    void answer(request, secrets).then(({ status, body }) => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify(body));
    });
  });
  return listenOnLoopback(server, 0);
}

async function answer(request: IncomingMessage, secrets: Secrets): Promise<{ status: number; body: object }> {
  const refuse = (type: string, message: string) => ({ status: 400, body: { __type: type, Message: message } });
  try {
    const target = request.headers['x-amz-target'];
    const parsed = requestSchema.safeParse(JSON.parse((await readAll(request, maxBytes)).toString('utf8')));
    if (target !== 'secretsmanager.GetSecretValue')
      return refuse('UnknownOperationException', `${target} is not supported here`);
    if (!parsed.success) return refuse('ValidationException', 'SecretId is missing');
    const secret = secrets.find(parsed.data.SecretId);
    if (secret === undefined)
      return refuse('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    return {
      status: 200,
      body: {
        ARN: secret.arn,
        Name: secret.name,
        SecretString: secret.text,
        VersionId: '00000000-0000-4000-8000-000000000001',
        VersionStages: ['AWSCURRENT'],
        CreatedDate: Math.floor(secret.createdAt / 1000),
      },
    };
  } catch (error) {
    return refuse('InvalidRequestException', messageOf(error));
  }
}
