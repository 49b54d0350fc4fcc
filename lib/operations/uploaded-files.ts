import type { Task } from '../config.ts';
import type { EpochMs } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { type Upload, uploadStatus } from '../domain/upload.ts';
import type { SubmittedFile, UploadReference, UploadRefused } from './admission.ts';
import type { AdmitDeps } from './deps.ts';
import { keptUntilOf } from './upload.ts';

type Found = { readonly kind: 'found'; readonly file: SubmittedFile };

/**
 * The files that a post names by their uploads, each held against its rule and against what lies in the bucket: it must be the declared bytes, by the SHA-256
 * that S3 computed when it took them.
 */
export async function findUploaded(
  deps: Pick<AdmitDeps, 'weir' | 'clock' | 'uploads' | 'files'>,
  tenant: string,
  task: Task,
  references: readonly UploadReference[],
): Promise<{ readonly kind: 'found'; readonly files: readonly SubmittedFile[] } | UploadRefused> {
  const looked = await Promise.all(references.map((reference) => find(deps, tenant, task, reference)));
  const faults = looked.flatMap((each) => (each.kind === 'unfit' ? each.faults : []));
  for (const each of looked) if (each.kind !== 'found' && each.kind !== 'unfit') return each;
  if (faults.length > 0) return { kind: 'unfit', faults };
  return { kind: 'found', files: looked.flatMap((each) => (each.kind === 'found' ? [each.file] : [])) };
}

async function find(
  deps: Pick<AdmitDeps, 'weir' | 'clock' | 'uploads' | 'files'>,
  tenant: string,
  task: Task,
  { field, uploadId, name }: UploadReference,
): Promise<Found | UploadRefused> {
  const upload = await deps.uploads.read({ tenant, id: uploadId });
  if (upload === undefined) return { kind: 'unknown_upload', field, uploadId };
  const object = await deps.files.look(upload.key);
  const status = uploadStatus(upload, object, deps.clock.now());
  switch (status) {
    case 'expired':
      return { kind: 'upload_expired', field, uploadId };
    case 'pending':
      return { kind: 'upload_pending', field, uploadId };
    case 'ready': {
      const faults = faultsOf(task, field, upload);
      if (faults.length > 0) return { kind: 'unfit', faults };
      return {
        kind: 'found',
        file: fileOf(field, name, upload, keptUntilOf(deps, object?.storedAt ?? upload.createdAt)),
      };
    }
    default:
      return unreachable(status);
  }
}

function fileOf(field: string, name: string | undefined, upload: Upload, keptUntil: EpochMs): SubmittedFile {
  const { mediaType, size, sha256 } = upload;
  return { field, name, mediaType, size, sha256, upload, keptUntil: upload.keptUntil ?? keptUntil };
}

function faultsOf({ files }: Task, field: string, { mediaType, size }: Upload): { path: string; message: string }[] {
  const rule = files?.[field];
  if (rule === undefined) return [{ path: `files.${field}`, message: 'unknown file' }];
  const types = rule.mediaTypes.includes(mediaType)
    ? []
    : [{ path: `files.${field}.mediaType`, message: `expected ${rule.mediaTypes.join(' or ')}, got ${mediaType}` }];
  const sizes =
    size <= rule.maxBytes
      ? []
      : [{ path: `files.${field}.size`, message: `expected at most ${rule.maxBytes} bytes, got ${size}` }];
  return [...types, ...sizes];
}
