import { fileKeepMs, inputsPrefix } from '../domain/file-places.ts';
import type { TaskId } from '../domain/task-id.ts';
import type { StoredFile } from '../domain/task-record.ts';
import { addMs, type EpochMs } from '../domain/time.ts';
import type { SubmittedFile, UploadRefused } from './admission.ts';
import type { AdmitDeps } from './deps.ts';
import { keepUpload } from './upload.ts';

/** The files of a task that is about to be created, and what to do with them. */
export class KeptFiles {
  /** As the record has them. */
  readonly stored: readonly StoredFile[];
  readonly #deps: Pick<AdmitDeps, 'weir' | 'clock' | 'uploads' | 'files'>;
  readonly #files: readonly { readonly file: SubmittedFile; readonly stored: StoredFile }[];

  constructor(
    deps: Pick<AdmitDeps, 'weir' | 'clock' | 'uploads' | 'files'>,
    id: TaskId,
    files: readonly SubmittedFile[],
    now: EpochMs,
  ) {
    this.#deps = deps;
    this.#files = files.map((file) => {
      const { field, name, mediaType, size, sha256 } = file;
      const place =
        file.upload === undefined
          ? { key: `${inputsPrefix}${id}/${field}`, keptUntil: addMs(now, fileKeepMs(deps.weir.times.keepMs)) }
          : { key: file.upload.key, keptUntil: file.keptUntil };
      return { file, stored: { field, name, mediaType, size, sha256, ...place } };
    });
    this.stored = this.#files.map(({ stored }) => stored);
  }

  /** Stores what came with the post, and keeps what was uploaded before; refused where that has gone since it was looked at. */
  async keep(): Promise<UploadRefused | undefined> {
    const refused = await Promise.all(this.#files.map(({ file, stored }) => this.#keepOne(file, stored)));
    return refused.find((each) => each !== undefined);
  }

  /** There is no such task after all. What was uploaded stays: it may have come to be another task's meanwhile. */
  async remove(): Promise<void> {
    const own = this.#files.filter(({ file }) => file.upload === undefined);
    await this.#deps.files.remove(own.map(({ stored }) => stored.key));
  }

  async #keepOne(file: SubmittedFile, { key }: StoredFile): Promise<UploadRefused | undefined> {
    if (file.upload === undefined) {
      await this.#deps.files.put(key, file.bytes, file);
      return undefined;
    }
    const { kind } = await keepUpload(this.#deps, file.upload, file.keptUntil);
    return kind === 'gone' ? { kind: 'unknown_upload', field: file.field, uploadId: file.upload.id } : undefined;
  }
}
