import { fileKeepMs, uploadKeyOf } from '../domain/file-places.ts';
import { addMs } from '../domain/time.ts';
import {
  type Declared,
  isWorthOffering,
  type StoredContent,
  type Upload,
  type UploadKey,
  type UploadStatus,
  uploadKeepMs,
  uploadStatus,
  uploadUrlMs,
  usableUntil,
} from '../domain/upload.ts';
import type { Files, Links, Uploads } from '../ports.ts';
import type { AdmitDeps, Deps } from './deps.ts';

export type UploadDeps = Pick<Deps, 'weir' | 'clock' | 'newNonce'> & {
  readonly uploads: Uploads;
  readonly files: Pick<Files, 'look' | 'remove'>;
  readonly links: Pick<Links, 'upload'>;
};

export type Offered =
  /** The bytes are there already. */
  | { readonly kind: 'ready'; readonly upload: Upload }
  | {
      readonly kind: 'url';
      readonly upload: Upload;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** Names an upload for what a client declares: one that needs no bytes, where this tenant's are there and stay long enough, else one with a URL to send them to. */
export async function offerUpload(deps: UploadDeps, tenant: string, declared: Declared): Promise<Offered> {
  const content = await deps.uploads.readContent(tenant, declared);
  const upload =
    content &&
    ((await keptUpload(deps, content, tenant, declared)) ?? (await readyUpload(deps, content, tenant, declared)));
  if (upload !== undefined) return { kind: 'ready', upload };
  const made = newUpload(deps, tenant, declared);
  await Promise.all([deps.uploads.create(made), deps.uploads.writeContent(tenant, declared, made, made.expiresAt)]);
  const link = await deps.links.upload(made.key, declared, made.urlExpiresAt - made.createdAt);
  return { kind: 'url', upload: made, ...link };
}

export type UploadSeen = { readonly upload: Upload; readonly status: UploadStatus };

/** Undefined: there is none, or it is somebody else's. */
export async function readUpload(
  deps: Pick<UploadDeps, 'uploads' | 'files' | 'clock'>,
  key: UploadKey,
): Promise<UploadSeen | undefined> {
  const upload = await deps.uploads.read(key);
  return upload && seen(deps, upload);
}

/** The upload as it was. Its bytes go too, unless a task uses them. */
export async function deleteUpload(
  deps: Pick<UploadDeps, 'uploads' | 'files' | 'clock'>,
  key: UploadKey,
): Promise<UploadSeen | undefined> {
  const removed = await deps.uploads.remove(key);
  if (removed === undefined) return undefined;
  const was = await seen(deps, removed);
  if (removed.keptUntil === undefined) await deps.files.remove([removed.key]);
  return was;
}

async function seen({ files, clock }: Pick<UploadDeps, 'files' | 'clock'>, upload: Upload): Promise<UploadSeen> {
  return { upload, status: uploadStatus(upload, await files.look(upload.key), clock.now()) };
}

function newUpload({ clock, newNonce }: UploadDeps, tenant: string, declared: Declared): Upload {
  const id = newNonce();
  const createdAt = clock.now();
  return {
    tenant,
    id,
    ...declared,
    key: uploadKeyOf(tenant, id),
    createdAt,
    urlExpiresAt: addMs(createdAt, uploadUrlMs),
    expiresAt: addMs(createdAt, uploadKeepMs),
  };
}

/** A new upload of bytes that a task keeps: it shares their object, which no delete of it takes away. */
async function keptUpload(
  deps: UploadDeps,
  content: StoredContent,
  tenant: string,
  declared: Declared,
): Promise<Upload | undefined> {
  if (content.keptUntil === undefined) return undefined;
  const made = newUpload(deps, tenant, declared);
  const until = usableUntil(content.keptUntil, deps.weir.times.keepMs, made.createdAt);
  if (until === undefined) return undefined;
  const { key, keptUntil } = content;
  const upload: Upload = { ...made, key, keptUntil, urlExpiresAt: made.createdAt, expiresAt: until };
  if ((await seen(deps, upload)).status !== 'ready') return undefined;
  await deps.uploads.create(upload);
  return upload;
}

/** The tenant's last upload of these bytes, where they have arrived and no task has used them yet. */
async function readyUpload(
  deps: UploadDeps,
  content: StoredContent,
  tenant: string,
  declared: Declared,
): Promise<Upload | undefined> {
  const upload = await deps.uploads.read({ tenant, id: content.id });
  if (upload === undefined || upload.mediaType !== declared.mediaType) return undefined;
  if (!isWorthOffering(upload, deps.clock.now())) return undefined;
  return (await seen(deps, upload)).status === 'ready' ? upload : undefined;
}

/** A task begins to use an upload: from here on its object lasts as long as the record of any task made of it now. `gone`: it was deleted or has expired. */
export async function keepUpload(
  deps: Pick<AdmitDeps, 'weir' | 'clock' | 'uploads' | 'files'>,
  upload: Upload,
  keptUntil: Upload['expiresAt'],
): Promise<{ readonly kind: 'kept' | 'gone' }> {
  const kept = await deps.uploads.keep(upload, { now: deps.clock.now(), keptUntil });
  if (kept.kind === 'gone') return kept;
  if (upload.keptUntil === undefined) await deps.files.keep(upload.key);
  const { tenant, id, key } = upload;
  await deps.uploads.writeContent(tenant, upload, { id, key, keptUntil }, keptUntil);
  return kept;
}

/** Until when an object is kept once a task uses it. */
export function keptUntilOf({ weir }: Pick<Deps, 'weir'>, storedAt: Upload['expiresAt']): Upload['expiresAt'] {
  return addMs(storedAt, fileKeepMs(weir.times.keepMs));
}
