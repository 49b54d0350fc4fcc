import { unreachable } from '../domain/unreachable.ts';
import type { UploadRefused } from '../operations/admission.ts';
import { invalidInput, type Problem } from './problem.ts';

/** What a client reads whose post names an upload that it cannot have. */
export function uploadRefusal(refused: UploadRefused): Problem {
  switch (refused.kind) {
    case 'unfit':
      return invalidInput(refused.faults).problem;
    case 'unknown_upload':
      return {
        ...about(refused),
        status: 404,
        title: 'There is no such upload',
        detail: `files.${refused.field}: no upload ${refused.uploadId} is known here.`,
      };
    case 'upload_pending':
      return {
        ...about(refused),
        status: 409,
        title: 'The upload has not arrived',
        detail: `files.${refused.field}: send the bytes to the upload's URL first, then post the task.`,
        retryAfterMs: 1_000,
      };
    case 'upload_expired':
      return {
        ...about(refused),
        status: 410,
        title: 'The upload has expired',
        detail: `files.${refused.field}: ask for a new upload of these bytes.`,
      };
    default:
      return unreachable(refused);
  }
}

function about({ kind, field, uploadId }: Exclude<UploadRefused, { kind: 'unfit' }>) {
  return { code: kind, members: { path: `files.${field}`, uploadId } };
}
