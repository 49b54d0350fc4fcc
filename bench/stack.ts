// `npm run bench:stack`: what slots cost, on the whole local stack. Rounds of the variants are interleaved; each figure is a median.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../local/stack.ts';
import { copyProject } from '../test/support/project-copy.ts';
import { byCallers } from './callers.ts';
import { median } from './meter.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 1 : 9;
const tasks = quick ? 40 : 200;
const workMs = 50;
const token = 'bench-operator-token';

/** Three pools with a probe each: two slots for four consumers, two consumers whose slots never bind, and one for throughput. */
const configuration = `import { defineConfig } from './lib/config.ts';
import probe from './tasks/probe.ts';

const pool = { pending: 2_000, memoryMb: 512 };
export default defineConfig({
  pools: {
    'two-slots': { ...pool, running: 2, maxRunning: 4 },
    'two-consumers': { ...pool, running: 2, maxRunning: 2 },
    wide: { ...pool, running: 6, maxRunning: 6 },
  },
  tasks: [
    { ...probe, api: 'two/slots', pool: 'two-slots' },
    { ...probe, api: 'two/consumers', pool: 'two-consumers' },
    { ...probe, api: 'wide/probe', pool: 'wide' },
  ],
});
`;

const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'));
const projectDir = join(folder, 'project');
copyProject('.', projectDir, configuration);
process.env.WEIR_OPERATOR_TOKEN = token;
const stack = await startStack({ projectDir, dataDir: join(folder, 'data'), port: 0, log: () => undefined });
const url = `${stack.url}/api/v1`;
try {
  await round('two/slots', tasks, 0);
  const slots: number[] = [];
  const consumers: number[] = [];
  for (let n = 1; n <= rounds; n++) {
    slots.push(await round('two/slots', tasks, workMs));
    consumers.push(await round('two/consumers', tasks, workMs));
    tell(n, `two slots ${last(slots)} ms, two consumers ${last(consumers)} ms`);
  }
  await round('wide/probe', tasks, 0);
  const off: number[] = [];
  const on: number[] = [];
  for (let n = 1; n <= rounds; n++) {
    await limits({});
    off.push(await round('wide/probe', tasks, 0));
    await limits({
      apis: { 'wide/probe': { running: 1_000, inSystem: 10_000 } },
      tenant: { running: 1_000, inSystem: 10_000 },
      ip: { running: 1_000, inSystem: 10_000 },
    });
    on.push(await round('wide/probe', tasks, 0));
    tell(n, `limits off ${last(off)} ms, on ${last(on)} ms`);
  }
  console.log(`\n${tasks} probes of ${workMs} ms, ideal ${(tasks * workMs) / 2} ms, medians of ${rounds}`);
  console.log(`  two slots, four consumers   ${median(slots)} ms`);
  console.log(`  two consumers, no limit     ${median(consumers)} ms`);
  console.log(
    `  ratio                       ${(median(slots) / median(consumers)).toFixed(3)}   (wanted: at most 1.2)`,
  );
  console.log(`\n${tasks} probes of 0 ms on six slots, medians of ${rounds}`);
  console.log(`  pool limit alone            ${median(off)} ms`);
  console.log(`  limits on all four tiers    ${median(on)} ms`);
  console.log(
    `  cost                        ${((median(on) / median(off) - 1) * 100).toFixed(1)} %   (wanted: at most 5 %)`,
  );
} finally {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Posts `count` probes, waits until all have ended, and answers the milliseconds from the first start to the last end. */
async function round(api: string, count: number, ms: number): Promise<number> {
  const begun = new Date(Date.now() - 1).toISOString();
  const post = async (n: number) => {
    const answer = await fetch(`${url}/${api}/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: { ms, tag: `${begun} ${n}` } }),
    });
    if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  await byCallers(
    Array.from({ length: count }, (_, n) => n),
    post,
    8,
  );
  for (;;) {
    const ended = await endedSince(api, begun);
    if (ended.length === count) return makespan(ended);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

type Ended = { readonly startedAt: string; readonly finishedAt: string };

async function endedSince(api: string, begun: string): Promise<Ended[]> {
  const found: Ended[] = [];
  let cursor = '';
  do {
    const query = `status=succeeded&api=${encodeURIComponent(api)}&createdFrom=${begun}&limit=100${cursor}`;
    const answer = (await (await fetch(`${url}/tasks?${query}`)).json()) as { items: Ended[]; nextCursor?: string };
    found.push(...answer.items);
    cursor = answer.nextCursor === undefined ? '' : `&cursor=${answer.nextCursor}`;
  } while (cursor !== '');
  return found;
}

function makespan(ended: readonly Ended[]): number {
  const starts = ended.map(({ startedAt }) => Date.parse(startedAt));
  const ends = ended.map(({ finishedAt }) => Date.parse(finishedAt));
  return Math.max(...ends) - Math.min(...starts);
}

async function limits(body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/operator/limits`, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status} ${await answer.text()}`);
}

function last(figures: readonly number[]): number {
  return figures.at(-1) ?? Number.NaN;
}

function tell(n: number, text: string): void {
  console.log(`round ${n} of ${rounds}: ${text}`);
}
