import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readPdf } from '../tasks/read-pdf.ts';
import { collect, type Entry } from './pdf-corpus.ts';
import { documents } from './pdf-documents.ts';
import { agreement } from './pdf-words.ts';

/**
 * Reads real documents and compares with poppler's `pdftotext`, page by page. Wants what Debian calls poppler-utils ghostscript qpdf img2pdf enscript groff
 * pango1.0-tools wkhtmltopdf texlive-latex-base, and its package lists; what this machine cannot make or fetch is left out, and said.
 */
test('finds the words that pdftotext finds in documents of many producers, and fails on the others as it should', async () => {
  const lines: string[] = [];
  const faults: string[] = [];
  let tried = 0;
  for (const entry of documents) {
    const bytes = fetched(entry);
    if (typeof bytes === 'string') {
      lines.push(`| ${entry.name} | ${entry.shows} | left out: ${bytes} |`);
      continue;
    }
    tried++;
    const { line, fault } = await compare(entry, bytes);
    lines.push(`| ${entry.name} | ${entry.shows} | ${line} |`);
    if (fault !== undefined) faults.push(`${entry.name}: ${fault}`);
  }
  console.log(['| document | shows | pages | words | found | in order | of ours |', ...lines].join('\n'));
  expect(faults).toEqual([]);
  expect(tried).toBeGreaterThanOrEqual(20);
}, 900_000);

function fetched({ source }: Entry): Buffer | string {
  try {
    return collect(source);
  } catch (error) {
    return (
      String((error as Error).message)
        .split('\n')
        .at(-1)
        ?.slice(0, 80) ?? 'failed'
    );
  }
}

async function compare({ expects, pages }: Entry, bytes: Buffer): Promise<{ line: string; fault?: string }> {
  const read = await readPdf(bytes, { pages }).catch((error: { code?: string }) => error.code ?? String(error));
  if (typeof read === 'string' || typeof expects === 'string') {
    const got = typeof read === 'string' ? read : 'text';
    return { line: `${got} | | | |`, ...(got === expects ? {} : { fault: `expected ${expects}, got ${got}` }) };
  }
  const theirs = pdftotext(bytes).filter((_, index) => read.pages.some(({ page }) => page === index + 1));
  const { words, pairs, ours, count } = agreement(
    read.pages.map(({ text }) => text),
    theirs,
  );
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const line = [read.pages.length, count, percent(words), percent(pairs), percent(ours)].join(' | ');
  if (read.textFound !== count > 0) return { line, fault: `textFound ${read.textFound} with ${count} words` };
  return {
    line,
    ...(words >= expects ? {} : { fault: `expected ${percent(expects)} of the words, got ${percent(words)}` }),
  };
}

function pdftotext(bytes: Buffer): string[] {
  const text = execFileSync('pdftotext', ['-q', '-enc', 'UTF-8', '-', '-'], {
    input: bytes,
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  });
  return text.split('\f').slice(0, -1);
}
