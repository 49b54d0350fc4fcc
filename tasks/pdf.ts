import * as z from 'zod';
import { defineTask, TaskError } from '../lib/task.ts';

/** PDF to text, page by page. */
export default defineTask({
  api: 'conversions/pdf',
  pool: 'conversions',
  input: z.strictObject({ to: z.enum(['text']) }),
  files: { document: { mediaTypes: ['application/pdf'], maxBytes: 50_000_000 } },
  timeoutMs: 120_000,
  async run({ files, ctx }) {
    const { extractText, getDocumentProxy } = await import('unpdf');
    const pdf = await getDocumentProxy(await files.document.bytes());
    const { text } = await extractText(pdf, { mergePages: false });
    if (text.length === 0) throw new TaskError('no_pages', 'the document has no pages');
    ctx.progress(100);
    return { pages: text };
  },
});
