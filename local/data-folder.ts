import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { commandLineOf, isAlive } from './running-process.ts';
import { messageOf, StackError } from './stack-error.ts';

export type DataFolder = {
  readonly path: string;
  readonly logs: string;
  /** A folder of this name inside, made when missing. */
  folder(name: string): string;
  /** Lets the next runner in. */
  release(): void;
};

/**
 * Takes the data folder for this process alone. Throws a StackError when it cannot be written, or when another runner
 * that is alive holds it, whose pid it names. A lock whose owner is gone is taken over.
 */
export function takeDataFolder(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  const lock = join(path, 'lock');
  const folder = (name: string) => {
    const inside = join(path, name);
    makeFolder(inside);
    return inside;
  };
  try {
    makeFolder(path);
    const logs = folder('logs');
    takeLock(lock, path);
    return { path, logs, folder, release: () => rmSync(lock, { force: true }) };
  } catch (error) {
    if (error instanceof StackError) throw error;
    throw new StackError(`cannot write the data folder ${path}: ${messageOf(error)}`);
  }
}

// Not mkdir's own `recursive`, which never returns for a folder under /proc.
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

function takeLock(lock: string, path: string): void {
  const mine = `${process.pid} ${commandLineOf(process.pid) ?? ''}`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const file = openSync(lock, 'wx', 0o600);
      writeSync(file, mine);
      closeSync(file);
      return;
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error;
    }
    const owner = liveOwner(lock);
    if (owner !== undefined)
      throw new StackError(
        `already running on the data folder ${path} (pid ${owner}): stop it, or set WEIR_DATA and PORT`,
      );
    // Renamed before it is removed, so that of two runners only one takes a stale lock away.
    const stale = `${lock}.${process.pid}`;
    try {
      renameSync(lock, stale);
      rmSync(stale, { force: true });
    } catch {
      // Somebody else took it away; the next attempt sees their lock.
    }
  }
  throw new StackError(`another runner is starting on the data folder ${path}`);
}

// A pid alone may have been given to somebody else since, so the command line must match too.
function liveOwner(lock: string): number | undefined {
  try {
    const [pid, ...command] = readFileSync(lock, 'utf8').split(' ');
    const owner = Number(pid);
    if (!Number.isInteger(owner) || owner <= 0 || !isAlive(owner)) return undefined;
    return commandLineOf(owner) === command.join(' ') ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file so that a reader sees the old or the new content, never half of it; only the owner may read it. */
export function writeAtomically(file: string, content: string): void {
  const next = `${file}.next`;
  writeFileSync(next, content, { mode: 0o600 });
  renameSync(next, file);
}
