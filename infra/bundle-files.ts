import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';

export type FilesOptions = {
  /** Paths in the bundle are relative to it. */
  readonly project: string;
  /** Where the source is whose files are carried. */
  readonly tasks: string;
  /** The bundle's. */
  readonly outdir: string;
};

/** As bundlers for browsers read it too. */
const reference = /new URL\('(\.[^']+)', import\.meta\.url\)/g;

/**
 * Carries the files that a task reads when it runs, such as fonts: `new URL('../node_modules/a-package/a.ttf', import.meta.url)`, a literal, is a file
 * of the bundle at `files/a-package/a.ttf`, and the bundled code refers to that. A folder is carried whole. What is not there fails the bundle.
 */
export function carryFiles({ project, tasks, outdir }: FilesOptions): Plugin {
  return {
    name: 'carry-files',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (relative(tasks, path).startsWith('..')) return undefined;
        const source = await readFile(path, 'utf8');
        const found = Array.from(source.matchAll(reference), ([, url = '']) => join(dirname(path), url));
        const missing = found.filter((file) => !existsSync(file));
        if (missing.length > 0) return { errors: missing.map((file) => ({ text: `no such file: ${file}` })) };
        const place = (file: string) => `files/${relative(project, file).replace(/^node_modules\/|\.\.\//g, '')}`;
        await Promise.all(found.map((file) => cp(file, join(outdir, place(file)), { recursive: true })));
        const contents = source.replace(
          reference,
          (_, url: string) =>
            `new URL('./${place(join(dirname(path), url))}${url.endsWith('/') ? '/' : ''}', import.meta.url)`,
        );
        return { contents, loader: 'ts' };
      });
    },
  };
}
