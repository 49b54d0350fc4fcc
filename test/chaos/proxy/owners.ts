import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** How the kernel writes 127.0.0.1. */
const loopback = '0100007F';
/** A connection that is established: local address, remote address, and further on the inode. */
const line = /^ *\d+: (\S+) (\S+) 01 \S+ \S+ \S+ +\d+ +\d+ (\d+)/;

/**
 * Who holds the clients' ends of loopback connections, by Linux's /proc. One look serves every connection that was open by then, so that a burst of new
 * ones costs little, also on a machine with thousands of others.
 */
export class Owners {
  readonly #pids: () => readonly number[];
  /** Inodes by the addresses of both ends, and processes by the inodes of their sockets. */
  readonly #inodes = new Map<string, string>();
  readonly #holders = new Map<string, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** `pids` are the processes to look at. */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
  }

  /** The process with the client's end of a connection; undefined when it is gone. `openSince` as `performance.now()` has it. */
  find(clientPort: number, serverPort: number, openSince: number): number | undefined {
    if (this.#lookedAt <= openSince) this.#look();
    const inode = this.#inodes.get(`${address(clientPort)} ${address(serverPort)}`) ?? '';
    return this.#holders.get(inode);
  }

  #look(): void {
    this.#lookedAt = performance.now();
    this.#inodes.clear();
    this.#holders.clear();
    for (const text of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
      const [, local, remote, inode = ''] = text.includes(' 01 ') ? (line.exec(text) ?? []) : [];
      if (remote !== undefined) this.#inodes.set(`${local} ${remote}`, inode);
    }
    for (const pid of this.#pids()) for (const inode of socketsOf(pid)) this.#holders.set(inode, pid);
  }
}

function address(port: number): string {
  return `${loopback}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((name) => /^socket:\[(\d+)\]$/.exec(linkOf(`${folder}/${name}`))?.[1] ?? []);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
