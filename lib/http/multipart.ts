import { createHash } from 'node:crypto';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import type { FileRule } from '../task.ts';
import { boundaryOf, fieldsOf, outline } from './multipart-outline.ts';
import { malformed, ProblemError } from './problem.ts';

export type Part = {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly sha256: string;
  readonly bytes: Buffer;
};

const maxJsonBytes = 1_000_000;
const maxHeaderBytes = 8_000;
const maxHeaderFields = 20;

/**
 * Reads `multipart/form-data`: the JSON parts `input` and `options`, and one part per file the api knows. Anything cut, doubled, unknown or larger
 * than its rule is an error, and so is a body that ends before its last boundary.
 */
export async function readMultipart(
  bytes: Buffer,
  contentType: string,
  files: Readonly<Record<string, FileRule>>,
): Promise<ReadonlyMap<string, Part>> {
  const count = countParts(bytes, contentType);
  const parts = new Map<string, Promise<Part>>();
  const known = ['input', 'options', ...Object.keys(files)];
  await new Promise<void>((resolve, reject) => {
    const busboy = openParser(contentType, known.length);
    busboy.on('file', (field, stream, name, _encoding, mediaType) => {
      // Without a listener an error of one part would end the process; the parser reports it too.
      stream.on('error', reject);
      const refused = refusal(field, mediaType, known, parts, files[field]);
      if (refused !== undefined) {
        stream.resume();
        reject(refused);
        return;
      }
      const part = readPart(field, stream, { name, mediaType, maxBytes: files[field]?.maxBytes ?? maxJsonBytes });
      part.catch(reject);
      parts.set(field, part);
    });
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      busboy.on(event, () =>
        reject(malformed('malformed_multipart', `Expected at most ${known.length} parts (${known.join(', ')}).`)),
      );
    }
    busboy.on('error', (error) => reject(unreadable(String((error as Error).message ?? error))));
    busboy.on('finish', resolve);
    busboy.end(bytes);
  });
  if (parts.size !== count) throw unreadable(`it has ${count} parts, of which ${parts.size} could be read`);
  return new Map(await Promise.all([...parts].map(async ([field, part]) => [field, await part] as const)));
}

/** The parser silently leaves out a part that is no form data, and cuts a header that is too long: such a body is refused before. Answers how many there are. */
function countParts(bytes: Buffer, contentType: string): number {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw malformed('malformed_multipart', 'Expected multipart/form-data with a boundary.');
  const found = outline(bytes, boundary, maxHeaderBytes);
  if (found.kind === 'broken') throw unreadable(found.reason);
  for (const header of found.headers) {
    const fields = fieldsOf(header);
    if (fields === undefined) throw unreadable('a part has a header line that is none');
    const dispositions = fields.get('content-disposition') ?? [];
    if (dispositions.length !== 1 || !/^form-data[ \t]*(?:;|$)/i.test(dispositions[0] ?? '')) {
      throw unreadable('expected one Content-Disposition: form-data in each part');
    }
    if ([...fields.values()].flat().length > maxHeaderFields) {
      throw unreadable(`a part has more than ${maxHeaderFields} header fields`);
    }
  }
  return found.headers.length;
}

function unreadable(reason: string): ProblemError {
  return malformed('malformed_multipart', `The multipart body cannot be read: ${reason}.`);
}

function openParser(contentType: string, parts: number) {
  try {
    // Every part is read as bytes: text would be decoded with replacement characters, and two bodies could become one.
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: () => true,
      limits: { parts, files: parts, headerPairs: maxHeaderFields + 1, headerSize: maxHeaderBytes + 1_000 },
    });
  } catch (error) {
    throw malformed(
      'malformed_multipart',
      `Expected multipart/form-data with a boundary (${(error as Error).message}).`,
    );
  }
}

function refusal(
  field: string | undefined,
  mediaType: string,
  known: readonly string[],
  parts: ReadonlyMap<string, unknown>,
  rule: FileRule | undefined,
): ProblemError | undefined {
  if (field === undefined || !known.includes(field)) {
    return malformed(
      'unknown_part',
      `Expected parts ${known.join(', ')}, got ${JSON.stringify((field ?? '').slice(0, 64))}.`,
    );
  }
  if (parts.has(field)) return malformed('repeated_part', `Expected one part ${field}, got two.`);
  const expected = rule?.mediaTypes ?? ['application/json', 'text/plain'];
  if (expected.includes(mediaType)) return undefined;
  return new ProblemError({
    status: 415,
    code: 'unsupported_media_type',
    title: 'A part has a media type this api does not take',
    detail: `Expected part ${field} as ${expected.join(' or ')}, got ${JSON.stringify(mediaType.slice(0, 100))}.`,
  });
}

async function readPart(
  field: string,
  stream: BusboyFileStream,
  { name, mediaType, maxBytes }: { name: string | undefined; mediaType: string; maxBytes: number },
): Promise<Part> {
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) continue;
    hash.update(chunk);
    chunks.push(chunk);
  }
  if (size > maxBytes) {
    throw new ProblemError({
      status: 413,
      code: 'too_large',
      title: 'A part is too large',
      detail: `Expected part ${field} with at most ${maxBytes} bytes, got ${size}.`,
      members: { part: field, maxBytes },
    });
  }
  return { name: name === '' ? undefined : name, mediaType, sha256: hash.digest('hex'), bytes: Buffer.concat(chunks) };
}
