import * as z from 'zod';
import { defineTask, type TaskContext, TaskError, type TaskFile } from '../lib/task.ts';
import { rangesOf } from './pdf/page-ranges.ts';

const mostCharacters = 60_000;
/** What an endpoint is given at most; of longer texts the beginning. */
const mostAsked = 100_000;
const askMs = 60_000;
const readMs = 60_000;
const marginMs = 20_000;

const input = z.strictObject({
  text: z.string().min(1).max(mostCharacters).optional(),
  sentences: z.int().min(1).max(20).default(5),
  /** A language code such as `de`; by default that of the text. */
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, 'expected a language code such as de or pt-BR')
    .optional(),
});

/**
 * A short summary of a text, or of a PDF or plain text file `document`:
 *
 *     { "summary": "…", "method": "model", "model": "…", "tokens": { "prompt": 812, "completion": 64 } }
 *     { "summary": "…", "method": "extractive", "because": "it answered 503" }
 *
 * `model`: a chat-completions endpoint wrote it (`WEIR_AI_BASE_URL`, `WEIR_AI_MODEL`, `WEIR_AI_KEY`). Without one, and when it fails, the summary is made of
 * the text's own sentences (`extractive`), and `because` says why. `truncated` is true where only the beginning was looked at. Fails for good as
 * `nothing_to_summarize` without any text, and as conversions/pdf does for a document that cannot be read.
 */
export default defineTask({
  api: 'ai/summary',
  pool: 'ai',
  input,
  files: { document: { mediaTypes: ['application/pdf', 'text/plain'], maxBytes: 50_000_000, required: false } },
  settings: ['WEIR_AI_BASE_URL', 'WEIR_AI_MODEL'],
  secrets: ['WEIR_AI_KEY'],
  timeoutMs: askMs + readMs + marginMs,
  async run({ input, files, ctx }) {
    if (input.text !== undefined && files.document !== undefined)
      throw new TaskError('two_texts', 'expected either text or a document, got both');
    const whole = input.text ?? (await textOf(files.document, ctx));
    const text = whole.slice(0, mostAsked).toWellFormed();
    if (!/\p{L}/u.test(text)) throw new TaskError('nothing_to_summarize', 'there is no text to summarize');
    const truncated = text.length < whole.length ? { truncated: true } : {};
    const { sentences, language } = input;
    const asked = await ask({ text, sentences, language }, ctx);
    if (asked.kind === 'answered') return { ...asked.result, ...truncated };
    const { summarize } = await import('./summary/text-rank.ts');
    const summary = summarize(text, sentences, language).join(' ');
    // Of a text without one whole sentence its beginning.
    return {
      summary: summary || text.trim().slice(0, 500),
      method: 'extractive',
      because: asked.because,
      ...truncated,
    };
  },
});

type Asked =
  | { readonly kind: 'answered'; readonly result: Record<string, unknown> }
  | { readonly kind: 'none'; readonly because: string };

async function ask(
  wanted: { text: string; sentences: number; language: string | undefined },
  ctx: TaskContext,
): Promise<Asked> {
  const [baseUrl, model] = [ctx.setting('WEIR_AI_BASE_URL'), ctx.setting('WEIR_AI_MODEL')];
  if (baseUrl === undefined || model === undefined) return { kind: 'none', because: 'no model is configured' };
  const { askForSummary, ChatError } = await import('./summary/chat.ts');
  try {
    const key = await ctx.secret('WEIR_AI_KEY');
    const options = { timeoutMs: askMs, signal: ctx.signal };
    const { summary, tokens } = await askForSummary({ baseUrl, model, key }, wanted, options);
    return {
      kind: 'answered',
      result: { summary, method: 'model', model, ...(tokens === undefined ? {} : { tokens }) },
    };
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    ctx.log('the model gave no summary', { because: error.message });
    return { kind: 'none', because: error.message };
  }
}

async function textOf(document: TaskFile | undefined, ctx: TaskContext): Promise<string> {
  if (document === undefined) throw new TaskError('nothing_to_summarize', 'expected text, or a document');
  const bytes = await document.bytes();
  if (document.mediaType === 'text/plain') return new TextDecoder().decode(bytes);
  const { performInThread } = await import('./pdf/thread.ts');
  const made = await performInThread({ kind: 'read', bytes, ranges: rangesOf(undefined) }, readMs, ctx);
  return made.kind === 'text' ? made.text.pages.map(({ text }) => text).join('\n\n') : '';
}
