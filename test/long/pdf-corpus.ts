import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

/** Where a document comes from: a package of Debian's or npm's, the fixtures, or a shell command that prints it or writes `out.pdf`. */
export type Source =
  | { readonly debian: string; readonly file: string }
  | { readonly npm: string; readonly file: string }
  | { readonly fixture: string }
  | { readonly shell: string; readonly input?: string };

export type Entry = {
  readonly name: string;
  readonly source: Source;
  /** What it is there for. */
  readonly shows: string;
  /** Of the words that pdftotext reads, how many must be found; or the code with which it fails. */
  readonly expects: number | string;
  /** Why so few. */
  readonly because?: string;
  readonly pages?: string;
};

/** Packages are fetched once. */
const folder = join(tmpdir(), 'weir-pdf-corpus');

export function collect(source: Source): Buffer {
  if ('debian' in source) return fromDebian(source.debian, source.file);
  if ('npm' in source) return fromNpm(source.npm, source.file);
  if ('fixture' in source) return readFileSync(fixturePath(source.fixture));
  return made(source.shell, source.input ?? '');
}

export function fixturePath(name: string): string {
  return fileURLToPath(new URL(`../tasks/fixtures/${name}`, import.meta.url));
}

function fromDebian(name: string, file: string): Buffer {
  const unpacked = join(folder, `debian-${name}`);
  if (!existsSync(unpacked)) {
    const shell = `apt-get download -qq ${name} && mkdir unpacked && dpkg-deb -x ${name}_*.deb unpacked && mv unpacked ${unpacked}`;
    inFolder((cwd) => execFileSync('sh', ['-c', shell], { cwd, stdio: ['ignore', 'ignore', 'pipe'] }));
  }
  const path = join(unpacked, file);
  return existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`));
}

function fromNpm(name: string, file: string): Buffer {
  const unpacked = join(folder, `npm-${name.replaceAll('/', '-')}`);
  if (!existsSync(unpacked)) {
    const shell = `npm pack --silent ${name} && tar xzf *.tgz && mv package ${unpacked}`;
    inFolder((cwd) => execFileSync('sh', ['-c', shell], { cwd, stdio: ['ignore', 'ignore', 'pipe'] }));
  }
  return readFileSync(join(unpacked, file));
}

function made(shell: string, input: string): Buffer {
  return inFolder((cwd) => {
    writeFileSync(join(cwd, 'in'), input);
    const env = { ...process.env, QT_QPA_PLATFORM: 'offscreen', XDG_RUNTIME_DIR: cwd };
    const out = execFileSync('sh', ['-c', shell], {
      cwd,
      env,
      maxBuffer: 100_000_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return existsSync(join(cwd, 'out.pdf')) ? readFileSync(join(cwd, 'out.pdf')) : out;
  });
}

/** In an empty folder, gone afterwards. */
function inFolder<Result>(work: (cwd: string) => Result): Result {
  const cwd = join(folder, 'work');
  rmSync(cwd, { recursive: true, force: true });
  mkdirSync(cwd, { recursive: true });
  try {
    return work(cwd);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
