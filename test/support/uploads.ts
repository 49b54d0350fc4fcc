import { createHash } from 'node:crypto';
import { s3Links } from '../../lib/adapters/s3/links.ts';
import type { SubmittedFile } from '../../lib/operations/admission.ts';
import { offerUpload, type UploadDeps } from '../../lib/operations/upload.ts';
import type { System } from './deps.ts';

/** What the function `upload` has of this system. */
export function uploadDeps({ deps, s3, bucket }: System): UploadDeps {
  return { ...deps, links: s3Links(s3, bucket) };
}

export function declared(bytes: Uint8Array, mediaType = 'text/plain') {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length, mediaType };
}

/** The same file as a part of multipart would bring it. */
export function asPart(bytes: Uint8Array, name?: string, mediaType?: string): SubmittedFile {
  return { field: 'document', name, ...declared(bytes, mediaType), bytes };
}

/** A PUT as a client makes it, with the headers it was told and perhaps other bytes; answers the status. */
export async function put(
  { url, headers }: { url: string; headers: Readonly<Record<string, string>> },
  bytes: Uint8Array,
): Promise<number> {
  const { 'content-length': _, ...sent } = headers;
  const answer = await fetch(url, { method: 'PUT', headers: sent, body: new Uint8Array(bytes) });
  await answer.text();
  return answer.status;
}

/** An upload with a URL; throws where none was needed. */
export async function offered(system: System, bytes: Uint8Array, { tenant = 't', mediaType = 'text/plain' } = {}) {
  const offer = await offerUpload(uploadDeps(system), tenant, declared(bytes, mediaType));
  if (offer.kind !== 'url') throw new Error(`expected a URL, got ${offer.kind}`);
  return offer;
}

/** Bytes that have arrived; answers their upload's id. */
export async function uploaded(system: System, bytes: Uint8Array, over: { tenant?: string } = {}): Promise<string> {
  const offer = await offered(system, bytes, over);
  const status = await put(offer, bytes);
  if (status !== 200) throw new Error(`expected 200, got ${status}`);
  return offer.upload.id;
}
