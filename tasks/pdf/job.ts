import type { PageRange } from './page-ranges.ts';
import type { PdfText, Progress } from './pages.ts';
import type { PageSize } from './paper.ts';
import type { Printed } from './print.ts';

/** What is asked of the thread. `bytes` is moved there. */
export type Order =
  | { readonly kind: 'read'; readonly bytes: Uint8Array; readonly ranges: readonly PageRange[] }
  | { readonly kind: 'frame'; readonly bytes: Uint8Array; readonly wish: Wish }
  | { readonly kind: 'print'; readonly bytes: Uint8Array; readonly form: 'plain' | 'markdown'; readonly wish: Wish };

export type Wish = { readonly title: string | undefined; readonly pageSize: PageSize | undefined };

export type Made = { readonly kind: 'text'; readonly text: PdfText } | ({ readonly kind: 'pdf' } & Printed);

/** Does it, on the thread it is called on, with no more libraries than it needs; throws `TaskError` for what the document is to blame for. */
export async function perform(order: Order, progress: Progress): Promise<Made> {
  switch (order.kind) {
    case 'read': {
      const { readPages } = await import('./pages.ts');
      return { kind: 'text', text: await readPages(order.bytes, order.ranges, progress) };
    }
    case 'frame': {
      const { imageToPdf } = await import('./image.ts');
      return { kind: 'pdf', ...(await imageToPdf(order.bytes, order.wish)) };
    }
    case 'print': {
      const { print } = await import('./print.ts');
      return { kind: 'pdf', ...(await print(order.bytes, order.form, order.wish, progress)) };
    }
  }
}
