import * as z from 'zod';
import type { JsonValue } from '../domain/strict-json.ts';
import type { UploadReference } from '../operations/admission.ts';
import type { FileRule } from '../task.ts';
import { type Fault, faultsOf } from './problem.ts';

const reference = z.strictObject({
  uploadId: z.string().regex(/^[\x21-\x7e]{1,64}$/, 'expected the uploadId of an upload'),
  name: z.string().min(1).max(255).optional(),
});

/** The member `files` of a JSON body, `{document: {uploadId, name?}}`: the references that are well formed, and every fault by its path. */
export function readReferences(
  given: JsonValue | undefined,
  rules: Readonly<Record<string, FileRule>>,
): { readonly references: readonly UploadReference[]; readonly faults: readonly Fault[] } {
  const references: UploadReference[] = [];
  const faults: Fault[] = [];
  const named = given ?? {};
  if (typeof named !== 'object' || Array.isArray(named)) {
    return { references, faults: [{ path: 'files', message: 'expected an object of file references by field' }] };
  }
  const known = Object.keys(rules);
  for (const [field, value] of Object.entries(named)) {
    const parsed = reference.safeParse(value);
    if (!known.includes(field)) {
      faults.push({ path: `files.${field}`, message: `unknown file, expected ${known.join(' or ') || 'none'}` });
    } else if (parsed.success) references.push({ field, ...parsed.data });
    else faults.push(...faultsOf(parsed.error, `files.${field}`));
  }
  for (const [field, { required }] of Object.entries(rules)) {
    if (required === false || Object.hasOwn(named, field)) continue;
    const message = 'expected {"uploadId": …} of an upload, or a file sent as a part of multipart/form-data';
    faults.push({ path: `files.${field}`, message });
  }
  return { references, faults };
}
