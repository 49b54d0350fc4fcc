import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, formatMessages, type Message, type Metafile, type Plugin } from 'esbuild';
import { type FunctionName, settings } from '../lib/settings.ts';
import { carryFiles } from './bundle-files.ts';

/** Gives each function its code. */
export type FunctionCode = (name: FunctionName) => Code;

export type BundleOptions = {
  /** Gets one folder per function, `<folder>/<name>/index.mjs` and its chunks; that of `work` also has its thread's `heartbeat.mjs` and its tasks' `files`. */
  readonly folder: string;
  /** Where the source of a function, or of its thread, is. */
  readonly entry?: (name: FunctionName | typeof thread) => string;
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
/** The thread that runs beside it: a second entry of its bundle, so that they share what both load. */
const thread = 'heartbeat';
/** What a task file may import at its top: every function loads it. */
const taskPackages = ['zod'];

/** Bundles every function into the CDK's output. */
export async function bundleFunctions(): Promise<FunctionCode> {
  const folder = join(process.env.CDK_OUTDIR ?? 'cdk.out', 'bundles');
  await bundle({ folder });
  return (name) => Code.fromAsset(join(folder, name));
}

/** Bundles every function and answers how much each loads when it starts, in bytes; throws `BundleError`. */
export async function bundle({
  folder,
  entry = (name) => join(project, 'functions', `${name}.ts`),
  tasks = join(project, 'tasks'),
}: BundleOptions): Promise<Record<FunctionName, number>> {
  const missing = [...names.map(entry), entry(thread)].filter((file) => !existsSync(file));
  if (missing.length > 0) {
    throw new BundleError(`no such file: ${missing.map((file) => relative(project, file)).join(', ')}`);
  }
  const sizes = names.map(async (name) => {
    const outdir = join(folder, name);
    const plugins = [name === runner ? carryFiles({ project, tasks, outdir }) : leaveOutRun(tasks)];
    const entryPoints = { index: entry(name), ...(name === runner ? { [thread]: entry(thread) } : {}) };
    const metafile = await run({ entryPoints, outdir, plugins });
    if (name !== runner) refuseHeavyTasks(metafile, tasks);
    return [name, startBytes(metafile)] as const;
  });
  // Nothing is written any more once this returns or throws.
  await Promise.allSettled(sizes);
  return Object.fromEntries(await Promise.all(sizes)) as Record<FunctionName, number>;
}

/**
 * ES modules with splitting: what is only reached by `import()` (a task's libraries, the AWS SDK's rarer credentials) is a file of its own, not
 * even parsed at cold start. Measured on Node 24 for the five functions: 97 to 175 ms, against 107 to 207 as one CommonJS file each. Packages in
 * CommonJS ask for Node's modules by `require`.
 */
const shared = {
  absWorkingDir: project,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  splitting: true,
  outExtension: { '.js': '.mjs' },
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
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

/** The entry and every chunk it imports statically. */
function startBytes({ outputs }: Metafile): number {
  const loaded = new Set(
    Object.keys(outputs).filter((file) => outputs[file]?.entryPoint !== undefined && file.endsWith('/index.mjs')),
  );
  for (const file of loaded) {
    for (const { path, kind } of outputs[file]?.imports ?? []) {
      if (kind === 'import-statement' && path in outputs) loaded.add(path);
    }
  }
  return [...loaded].reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0);
}
