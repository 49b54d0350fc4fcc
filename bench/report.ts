import type { Bytes } from './memory.ts';
import { type Row, rounded, type Spread } from './rounds.ts';

export type Target = {
  readonly promise: string;
  readonly limit: number;
  readonly measured: number;
  readonly met: boolean;
};

export type Report = {
  readonly date: string;
  readonly node: string;
  readonly redis: string;
  readonly cpus: number;
  readonly quick: boolean;
  /** One connection, commands in pipelines; before and after a million tasks were filled in. */
  readonly pipelined: readonly Row[];
  readonly pipelinedBesideAMillion: readonly Row[];
  /** Many callers, one command at a time each, through the clients their users have. */
  readonly callers: readonly Row[];
  readonly bytes: readonly Bytes[];
  readonly targets: readonly Target[];
};

/** The targets of this version, from the rows of `report`. Where a promise can be read in two ways, both are judged. */
export function targetsOf(report: Omit<Report, 'targets'>): Target[] {
  const { pipelined, pipelinedBesideAMillion: beside, callers, bytes } = report;
  const set = find(pipelined, 'SET NX PX');
  const admit = find(pipelined, 'admit, no task yet');
  const [at10k, at1M] = [find(beside, 'admit, 10 k tasks'), find(beside, 'admit, 1 M tasks')];
  const [setByCallers, admitByCallers] = [find(callers, 'SET NX PX'), find(callers, 'admit')];
  const add = find(callers, 'BullMQ add, deduplicated');
  const perTask = bytes[0]?.perTask ?? Number.NaN;
  return [
    atMost(12, 'admit / SET NX PX, processor time, by callers', ratio('cpuUs', admitByCallers, setByCallers)),
    atMost(12, 'admit / SET NX PX, processor time, in pipelines', ratio('cpuUs', admit, set)),
    atMost(12, 'admit / SET NX PX, time in the call, in pipelines', ratio('inCallUs', admit, set)),
    atMost(1.5, 'admit at 1 M tasks / at 10 k, processor time', ratio('cpuUs', at1M, at10k)),
    atMost(1.5, 'admit at 1 M tasks / at 10 k, time in the call', ratio('inCallUs', at1M, at10k)),
    atMost(900, 'bytes of a task with four tiers', perTask),
    atMost(600, 'bytes of a task with four tiers, wanted', perTask),
    atLeast(1.5, 'admissions a second / BullMQ add, by callers', ratio('perSecond', admitByCallers, add)),
    atLeast(1.5, 'admissions a second of processor time / BullMQ add', ratio('cpuUs', add, admitByCallers)),
  ];
}

export function ratio(figure: 'cpuUs' | 'inCallUs' | 'perSecond', row: Row, base: Row): number {
  return row[figure].median / base[figure].median;
}

function atMost(limit: number, promise: string, value: number): Target {
  return { promise: `${promise}: at most ${limit}`, limit, measured: rounded(value), met: value <= limit };
}

export function atLeast(limit: number, promise: string, value: number): Target {
  return { promise: `${promise}: at least ${limit}`, limit, measured: rounded(value), met: value >= limit };
}

export function find(rows: readonly Row[], name: string): Row {
  const row = rows.find((each) => each.name === name);
  if (row === undefined) throw new Error(`expected a row ${name}`);
  return row;
}

export function print(report: Report): string {
  return [
    `${report.date}  Node ${report.node}, Redis ${report.redis}, ${report.cpus} processors${report.quick ? ' (quick: figures mean nothing)' : ''}`,
    table('In pipelines on one connection', report.pipelined),
    table('The same beside a million tasks', report.pipelinedBesideAMillion),
    table('Many callers at once, each operation through its own client', report.callers),
    bytesTable(report.bytes),
    targetTable(report.targets),
  ].join('\n\n');
}

export function table(title: string, rows: readonly Row[]): string {
  const base = rows[0];
  return columns([
    [title, 'CPU us', 'min-max', 'x', 'in call us', 'min-max', 'x', 'per second'],
    ...rows.map(({ name, cpuUs, inCallUs, perSecond }) => [
      name,
      cpuUs.median.toFixed(1),
      span(cpuUs),
      (cpuUs.median / (base?.cpuUs.median ?? 1)).toFixed(1),
      inCallUs.median.toFixed(1),
      span(inCallUs),
      (inCallUs.median / (base?.inCallUs.median ?? 1)).toFixed(1),
      perSecond.median.toFixed(0),
    ]),
  ]);
}

function bytesTable(all: readonly Bytes[]): string {
  return columns([
    ['Bytes', 'a task', 'more while it runs', 'log in all'],
    ...all.map(({ name, perTask, perRunningTask, log }) => [
      name,
      String(perTask),
      String(perRunningTask),
      String(log),
    ]),
  ]);
}

export function targetTable(targets: readonly Target[]): string {
  return columns([
    ['Target', 'measured', ''],
    ...targets.map(({ promise, measured, met }) => [promise, String(measured), met ? 'met' : 'not met']),
  ]);
}

function span({ min, max }: Spread): string {
  return `${min.toFixed(1)}-${max.toFixed(1)}`;
}

/** Text flush left in the first column, figures flush right in the others. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}
