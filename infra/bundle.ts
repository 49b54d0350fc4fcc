import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, formatMessages, type Message, type Metafile, type Plugin } from 'esbuild';
import { type FunctionName, settings } from '../lib/settings.ts';

/** Gives each function its code. */
export type FunctionCode = (name: FunctionName) => Code;

export type BundleOptions = {
  /** Gets one folder per function, `<folder>/<name>/index.js`. */
  readonly folder: string;
  /** Where a function's source is. */
  readonly entry?: (name: FunctionName) => string;
  /** Where the task types are. */
  readonly tasks?: string;
};

/** The functions cannot be bundled; the message says what to change, file by file. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
}

const project = fileURLToPath(new URL('..', import.meta.url));
const names = Object.keys(settings) as FunctionName[];
/** The only one that calls a task's `run`, and so the only one that carries what `run` imports. */
const runner: FunctionName = 'work';
/** What a task file may import at its top: every function loads it. */
const taskPackages = ['zod'];

/** Bundles every function into the CDK's output. */
export async function bundleFunctions(): Promise<FunctionCode> {
  const folder = join(process.env.CDK_OUTDIR ?? 'cdk.out', 'bundles');
  await bundle({ folder });
  return (name) => Code.fromAsset(join(folder, name));
}

/** Bundles every function and answers how large each is, in bytes; throws `BundleError`. */
export async function bundle({
  folder,
  entry = (name) => join(project, 'functions', `${name}.ts`),
  tasks = join(project, 'tasks'),
}: BundleOptions): Promise<Record<FunctionName, number>> {
  const missing = names.map(entry).filter((file) => !existsSync(file));
  if (missing.length > 0) throw new BundleError(`no such file: ${missing.map(named).join(', ')}`);
  const point = (name: FunctionName) => ({ in: entry(name), out: join(name, 'index') });
  const others = names.filter((name) => name !== runner);
  // Two builds side by side: what a task imports inside `run` is out of one and in the other.
  const [light, heavy] = await Promise.all([
    run({ entryPoints: others.map(point), outdir: folder, plugins: [leaveOutRun(tasks)] }),
    run({ entryPoints: [point(runner)], outdir: folder }),
  ]);
  refuseHeavyTasks(light, tasks);
  return sizes({ ...light.outputs, ...heavy.outputs });
}

/**
 * CommonJS: Node 24 loads it no slower than ES modules, and `node:http` 55 ms faster where a library asks for it. An `import()` inside the bundle
 * becomes a `require` that runs when it is reached, so a worker loads a task's libraries with its first task.
 */
const shared = {
  absWorkingDir: project,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields: ['module', 'main'],
  minify: true,
  keepNames: true,
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'silent',
} as const satisfies BuildOptions;

async function run(options: BuildOptions): Promise<Metafile> {
  try {
    const { metafile } = await build({ ...shared, ...options, metafile: true });
    return metafile;
  } catch (error) {
    const { errors = [] } = error as { errors?: Message[] };
    if (errors.length === 0) throw error;
    throw new BundleError((await formatMessages(errors, { kind: 'error' })).join('\n'), { cause: error });
  }
}

/** Keeps what a task imports inside `run` out of the functions that never call it: `admit` needs a task's schema, not its PDF library. */
function leaveOutRun(tasks: string): Plugin {
  return {
    name: 'leave-out-run',
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ kind, importer, path }) =>
        kind === 'dynamic-import' && isInside(tasks, importer) ? { path, external: true } : undefined,
      );
    },
  };
}

function refuseHeavyTasks({ inputs }: Metafile, tasks: string): void {
  const faults = Object.entries(inputs).flatMap(([file, { imports }]) => {
    if (!isInside(tasks, join(project, file))) return [];
    const heavy = imports.map(({ path }) => packageOf(path)).filter((name) => name !== undefined);
    return heavy
      .filter((name) => !taskPackages.includes(name))
      .map((name) => `${file}: import ${name} inside run, not at the top, which every function loads`);
  });
  if (faults.length > 0) throw new BundleError(faults.join('\n'));
}

function isInside(folder: string, file: string): boolean {
  return file !== '' && !relative(folder, file).startsWith('..');
}

/** The package a bundled file is from; undefined for our own files and for what is left out of the bundle. */
function packageOf(path: string): string | undefined {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
}

function sizes(outputs: Metafile['outputs']): Record<FunctionName, number> {
  const each = names.map((name) => {
    const [, output] = Object.entries(outputs).find(([file]) => file.endsWith(join(name, 'index.js'))) ?? [];
    return [name, output?.bytes ?? 0];
  });
  return Object.fromEntries(each);
}

function named(file: string): string {
  return relative(project, file);
}
