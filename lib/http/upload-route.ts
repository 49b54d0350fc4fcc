import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import * as z from 'zod';
import { isoTime } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { maxUploadBytes } from '../domain/upload.ts';
import { deleteUpload, offerUpload, readUpload, type UploadDeps, type UploadSeen } from '../operations/upload.ts';
import { json } from './answer.ts';
import type { Route } from './http-handler.ts';
import { ProblemError } from './problem.ts';
import { tenantOf } from './request.ts';
import { readJsonBody } from './request-body.ts';
import { type ResultDeps, resultRoute } from './result-route.ts';

const declared = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'expected 64 hexadecimal digits')
    .transform((text) => text.toLowerCase()),
  size: z.int().min(0).max(maxUploadBytes),
  mediaType: z
    .string()
    .max(127)
    .regex(/^[a-z]+\/[a-z0-9.+-]+$/i, 'expected a media type such as application/pdf')
    .transform((text) => text.toLowerCase()),
});
const uploadId = /^[0-9a-f-]{36}$/;

/** POST /v1/uploads, GET and DELETE /v1/uploads/{id}, and GET /v1/tasks/{id}/result: files in, files out. */
export function uploadRoute(deps: UploadDeps & ResultDeps, baseUrl: string): Route {
  return async (event) => {
    if (event.resource === '/v1/tasks/{id}/result') return resultRoute(deps, baseUrl, event);
    switch (event.httpMethod) {
      case 'POST':
        return offer(deps, event);
      case 'DELETE':
        return json(200, view(found(event, await deleteUpload(deps, keyOf(event)))));
      default:
        return json(200, view(found(event, await readUpload(deps, keyOf(event)))));
    }
  };
}

async function offer(deps: UploadDeps, event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const offered = await offerUpload(deps, tenantOf(event), readJsonBody(event, declared));
  const { upload } = offered;
  switch (offered.kind) {
    case 'ready':
      return json(200, view({ upload, status: 'ready' }));
    case 'url': {
      const { url, headers } = offered;
      return json(201, { ...view({ upload, status: 'pending' }), method: 'PUT', url, headers });
    }
    default:
      return unreachable(offered);
  }
}

/** `expiresAt` of a pending one is its URL's end, of any other its own. */
function view({ upload, status }: UploadSeen): Record<string, unknown> {
  const { id, sha256, size, mediaType, urlExpiresAt, expiresAt } = upload;
  const until = status === 'pending' ? urlExpiresAt : expiresAt;
  return { uploadId: id, status, sha256, size, mediaType, expiresAt: isoTime(until) };
}

function keyOf(event: APIGatewayProxyEvent): { tenant: string; id: string } {
  const id = event.pathParameters?.id ?? '';
  if (!uploadId.test(id)) throw unknownUpload(id);
  return { tenant: tenantOf(event), id };
}

function found(event: APIGatewayProxyEvent, seen: UploadSeen | undefined): UploadSeen {
  if (seen === undefined) throw unknownUpload(event.pathParameters?.id ?? '');
  return seen;
}

/** Also for somebody else's: that there is one is nobody's business. */
function unknownUpload(id: string): ProblemError {
  return new ProblemError({
    status: 404,
    code: 'unknown_upload',
    title: 'There is no such upload',
    detail: `No upload ${JSON.stringify(id.slice(0, 64))} is known here.`,
  });
}
