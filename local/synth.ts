import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { readAssembly } from './assembly.ts';
import { writeAtomically } from './data-folder.ts';
import { messageOf, StackError } from './stack-error.ts';
import { secretVariables } from './template/local-metadata.ts';

export type Synthesis = { outDir: string; fresh: boolean };

const alwaysExcluded = ['node_modules', '.git', 'cdk.out', '.weir'];
const hashVersion = 'v1';
const globs = z.union([z.string(), z.array(z.string())]).transform((given) => [given].flat());
const cdkSchema = z.object({
  watch: z
    .object({ include: globs.default(['**']), exclude: globs.default([]) })
    .default({ include: ['**'], exclude: [] }),
});

/**
 * Synthesizes the project with its cdk CLI into `<dataPath>/cdk.out`, unless nothing it reads has changed: the files
 * that `watch` in cdk.json selects, cdk.json, package-lock.json, and the environment variables that start with WEIR_, but
 * for those that only give a secret its value when the stack runs.
 */
export async function synthesize(
  projectDir: string,
  dataPath: string,
  { defer, onBegin }: { defer: (undo: () => void) => void; onBegin?: () => void },
): Promise<Synthesis> {
  const outDir = join(dataPath, 'cdk.out');
  const hashFile = join(dataPath, 'cdk.out.sha256');
  const files = await hashOfFiles(projectDir, dataPath);
  const before = readOr(hashFile, undefined);
  if (before !== undefined && existsSync(join(outDir, 'manifest.json')) && before === withVariables(files, outDir))
    return { outDir, fresh: false };
  onBegin?.();
  // Gone before the synth and written after it: one that was interrupted is repeated.
  rmSync(hashFile, { force: true });
  rmSync(outDir, { recursive: true, force: true });
  await runCdk(projectDir, outDir, defer);
  // A file that changed while the tool ran gives another hash next time, which is right.
  writeAtomically(hashFile, withVariables(files, outDir));
  return { outDir, fresh: true };
}

async function hashOfFiles(projectDir: string, dataPath: string): Promise<string> {
  const cdkJson = readOr(join(projectDir, 'cdk.json'), undefined);
  if (cdkJson === undefined) throw new StackError(`${projectDir} has no cdk.json`);
  const { watch } = parseCdkJson(cdkJson);
  const dataInside = relative(projectDir, dataPath);
  const excluded = [...alwaysExcluded, ...watch.exclude, ...(dataInside.startsWith('..') ? [] : [dataInside])];
  const files = new Set<string>(['cdk.json', 'package-lock.json']);
  const found = glob(watch.include, { cwd: projectDir, exclude: excluded, withFileTypes: true });
  for await (const entry of found)
    if (entry.isFile()) files.add(relative(projectDir, join(entry.parentPath, entry.name)));
  const hash = createHash('sha256').update(`${hashVersion} ${process.version}\n`);
  for (const file of [...files].sort()) {
    const content = await readFile(join(projectDir, file)).catch(() => Buffer.alloc(0));
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function withVariables(files: string, outDir: string): string {
  const leftOut = ['WEIR_DATA', ...secretVariables(readAssembly(outDir).template)];
  const read = Object.entries(process.env).filter(([name]) => name.startsWith('WEIR_') && !leftOut.includes(name));
  return createHash('sha256')
    .update(`${files}\n${JSON.stringify(read.sort())}`)
    .digest('hex');
}

function parseCdkJson(text: string): z.output<typeof cdkSchema> {
  try {
    return cdkSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new StackError(`cdk.json is not understood: ${messageOf(error)}`);
  }
}

async function runCdk(projectDir: string, outDir: string, defer: (undo: () => void) => void): Promise<void> {
  const cdk = join(dirname(createRequire(import.meta.url).resolve('aws-cdk/package.json')), 'bin', 'cdk');
  // `node` in cdk.json's app must be this one.
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  const child = spawn(process.execPath, [cdk, 'synth', '--quiet', '--no-notices', '-o', outDir], {
    cwd: projectDir,
    detached: true,
    env: { ...process.env, PATH: path, CDK_DISABLE_CLI_TELEMETRY: 'true', CDK_DISABLE_VERSION_CHECK: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // The whole group: the tool runs the app in a process of its own.
  defer(() => {
    try {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  });
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk));
  const how = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit status ${code}`)));
  });
  if (how === undefined) return;
  const words = Buffer.concat(said).toString('utf8').trim();
  throw new StackError(`cdk synth failed (${how})${words === '' ? '' : `; its own words:\n${words}`}`);
}

function readOr<T>(file: string, otherwise: T): string | T {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
