import { expect, test } from 'vitest';
import { runCampaign } from './campaign.ts';
import { reportLines } from './report.ts';

test('a stack that is struck under load loses nothing, doubles nothing and leaves nothing behind', async () => {
  const lines: string[] = [];
  const report = await runCampaign({
    seed: 1,
    from: { function: 0, service: 0 },
    kills: 20,
    services: 2,
    mostMs: 25_000,
    source: '.',
    log: (line) => lines.push(line),
    signal: AbortSignal.timeout(220_000),
  });
  const told = [...lines, ...reportLines(report)].join('\n');
  expect(report.findings, told).toEqual([]);
  // On a machine that is busy with other things fewer are reached in the time.
  expect(report.tally.of('function killed'), told).toBeGreaterThanOrEqual(5);
  expect(report.tally.serviceBlows, told).toBeGreaterThanOrEqual(1);
  expect(report.clients.promised.size, told).toBeGreaterThanOrEqual(5);
});
