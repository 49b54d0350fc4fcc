import type { Bytes } from './memory.ts';
import type { Row, Spread } from './rounds.ts';

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

/** The targets of this version, from the rows of `report`. */
export function targetsOf(report: Omit<Report, 'targets'>): Target[] {
  const { pipelined, pipelinedBesideAMillion: beside, callers, bytes } = report;
  const set = find(pipelined, 'SET NX PX');
  const admit = find(pipelined, 'admit, no task yet');
  const at10k = find(beside, 'admit, 10 k tasks');
  const at1M = find(beside, 'admit, 1 M tasks');
  const add = find(callers, 'BullMQ add, deduplicated').perSecond.median;
  const perTask = bytes[0]?.perTask ?? Number.NaN;
  return [
    atMost('admit: processor time, as a multiple of SET NX PX', 12, admit.cpuUs.median / set.cpuUs.median),
    atMost('admit: time inside the call, as a multiple of SET NX PX', 12, admit.inCallUs.median / set.inCallUs.median),
    atMost(
      'admit with 1 M tasks: processor time, as a multiple of 10 k tasks',
      1.5,
      at1M.cpuUs.median / at10k.cpuUs.median,
    ),
    atMost(
      'admit with 1 M tasks: time inside the call, as a multiple of 10 k tasks',
      1.5,
      at1M.inCallUs.median / at10k.inCallUs.median,
    ),
    atMost('bytes of a task with four tiers', 900, perTask),
    atMost('bytes of a task with four tiers, wanted', 600, perTask),
    atLeast('admissions a second, as a multiple of BullMQ add', 1.5, find(callers, 'admit').perSecond.median / add),
    atLeast(
      'admissions with confirm a second, as a multiple of BullMQ add',
      1.5,
      find(callers, 'admit + confirm').perSecond.median / add,
    ),
  ];
}

function atMost(promise: string, limit: number, value: number): Target {
  return { promise: `${promise}, at most ${limit}`, limit, measured: round(value), met: value <= limit };
}

function atLeast(promise: string, limit: number, value: number): Target {
  return { promise: `${promise}, at least ${limit}`, limit, measured: round(value), met: value >= limit };
}

function find(rows: readonly Row[], name: string): Row {
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

function table(title: string, rows: readonly Row[]): string {
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

function targetTable(targets: readonly Target[]): string {
  return columns([
    ['Target', 'measured', ''],
    ...targets.map(({ promise, measured, met }) => [promise, String(measured), met ? 'met' : 'not met']),
  ]);
}

function span({ min, max }: Spread): string {
  return `${min.toFixed(1)}-${max.toFixed(1)}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
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
