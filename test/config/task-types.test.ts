import { expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { defineTask, type TaskFile } from '../../lib/task.ts';

test('a handler knows the types of its input and files', () => {
  defineTask({
    api: 'g/a',
    pool: 'p',
    input: z.strictObject({ to: z.enum(['text', 'pdf']), pages: z.int().default(1) }),
    files: {
      document: { mediaTypes: ['application/pdf'], maxBytes: 1 },
      cover: { mediaTypes: ['image/png'], maxBytes: 1, required: false },
    },
    timeoutMs: 1,
    dedup: { fields: ['to'] },
    async run({ input, files, ctx }) {
      expectTypeOf(input).toEqualTypeOf<{ to: 'text' | 'pdf'; pages: number }>();
      expectTypeOf(files.document).toEqualTypeOf<TaskFile>();
      expectTypeOf(files.cover).toEqualTypeOf<TaskFile | undefined>();
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
    },
  });
});

test('a field that the input does not have cannot make requests identical', () => {
  defineTask({
    api: 'g/a',
    pool: 'p',
    input: z.strictObject({ to: z.string() }),
    timeoutMs: 1,
    // @ts-expect-error 'form' is not among the input's members
    dedup: { fields: ['form'] },
    run: async () => null,
  });
});
