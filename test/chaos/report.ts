import type { Report } from './campaign.ts';

const mostShown = 20;

/** What a person reads at the end: strikes by point, what became of the tasks, and each finding with its task's history. */
export function reportLines({
  tally,
  witness,
  clients,
  findings,
  explained,
  strikingMs,
  slots,
  waitsMs,
}: Report): string[] {
  const kills = tally.of('function killed');
  const succeeded = [...clients.promised.keys()].filter((id) => witness.endOf(id)?.status === 'succeeded').length;
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .toSorted()
      .map(([what, count]) => `${what} ${count}`)
      .join(', ') || 'none';
  return [
    ...tally.table(),
    '',
    `  ${kills} kills of functions in ${Math.round(strikingMs / 1_000)} s, ${((1_000 * kills) / strikingMs).toFixed(1)} a second`,
    `  services: ${list(tally.services)}`,
    `  promised: ${clients.promised.size} tasks, ${succeeded} succeeded; answers: ${list(clients.answers)}`,
    `  refused, because they came late: ${list(witness.refusedLate)}`,
    `  slots: at most ${slots.most()} at once in ${slots.looks()} looks`,
    `  running tasks whose worker was killed: ${waitsMs.length}, next write after ${seconds(waitsMs[waitsMs.length >> 1])} (median), ${seconds(waitsMs.at(-1))} (most)`,
    ...explained.map((line) => `  explained: ${line}`),
    '',
    ...findingLines(findings, witness),
  ];
}

function findingLines(findings: Report['findings'], witness: Report['witness']): string[] {
  if (findings.length === 0) return ['  no finding: nothing lost, nothing doubled, nothing left behind'];
  const shown = findings
    .slice(0, mostShown)
    .flatMap(({ kind, what, task }) => [
      `  FINDING ${kind}: ${what}`,
      ...(task === undefined ? [] : witness.history.of(task).map((line) => `      ${line}`)),
    ]);
  const kinds = Map.groupBy(findings, ({ kind }) => kind);
  return [
    ...shown,
    `  ${findings.length} findings: ${[...kinds].map(([kind, all]) => `${kind} ${all.length}`).join(', ')}`,
  ];
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? '-' : `${(ms / 1_000).toFixed(1)} s`;
}
