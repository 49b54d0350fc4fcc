import { spawnSync } from 'node:child_process';
import { expect, inject, test } from 'vitest';
import { readDecisionLog } from '../../../lib/adapters/redis/decision-log.ts';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { audit } from '../../../lib/domain/audit.ts';
import type { Limits } from '../../../lib/domain/tiers.ts';
import { BusyClient, dice, mostAtOnce } from '../../support/busy-gate.ts';
import { writtenLog } from '../../support/decision-log.ts';
import { ask, newTaskId, openGate } from '../../support/gate.ts';

const configured: Limits = {
  pools: { p: { inSystem: 40, running: 7 } },
  apis: { 'g/a': { running: 3, inSystem: 15 } },
  tenant: { running: 6 },
  ip: { inSystem: 10, running: 4 },
};

test('twenty thousand calls of every kind: no violation, nothing unexplained, and the sets are those of Redis', async () => {
  const { gate, connection, stage } = await openGate(configured, { startWindowMs: 400 });
  const clients = Array.from({ length: 12 }, (_, seed) => new BusyClient(gate, seed));
  const roll = dice(99);
  const ran = { calls: 0, changes: 0 };
  await Promise.all(
    clients.map(async (client) => {
      while (ran.calls < 20_000) {
        const made = await client.act();
        ran.calls += made;
        if (ran.calls < ran.changes * 500) continue;
        const limits = { running: 1 + Math.floor(roll() * 9), inSystem: 5 + Math.floor(roll() * 50) };
        const overrides = roll() < 0.7 ? [{ tier: { tier: 'pool' as const, name: 'p' }, limits }] : [];
        await gate.setLimits({ version: ++ran.changes, overrides, paused: {} });
      }
    }),
  );
  const keys = cellKeys(stage);
  const log = await readDecisionLog(connection, keys);
  const report = audit(log.entries, { configured, whole: log.whole, live: log.live });
  expect(log.whole).toBe(true);
  expect(report).toMatchObject({ violations: [], unexplained: [], limitsUnknown: 0 });

  // Every kind of record and answer came up, and the log has exactly as many grants as the clients were given.
  const counts = sum(clients.map((client) => client.counts));
  expect(report.counts).toMatchObject({
    admit: (counts['admit admitted'] ?? 0) + (counts['replace admitted'] ?? 0),
    acquire: counts['acquire acquired'],
    lost: counts['extend lost'],
    limits: ran.changes,
  });
  const kinds = ['admit', 'replace', 'acquire', 'release', 'lost', 'sweep', 'limits', 'epoch'];
  expect(kinds.filter((kind) => (report.counts[kind] ?? 0) === 0)).toEqual([]);
  for (const answer of ['admit rejected', 'acquire busy', 'acquire held', 'extend extended', 'extend seatless'])
    expect(counts[answer], answer).toBeGreaterThan(0);

  // What the clients saw held at one moment is no more than the peak, and the peak no more than any limit that was set.
  const peak = report.peaks.find(({ tier, set }) => tier === 'pool:p' && set === 'slots');
  const seen = mostAtOnce(clients.flatMap(({ held }) => held));
  expect(seen).toBeGreaterThan(3);
  expect(peak?.use).toBeGreaterThanOrEqual(seen);
  expect(peak?.use).toBeLessThanOrEqual(peak?.limit ?? 0);

  for (const set of ['seats', 'slots'] as const) {
    for (const tier of [
      { tier: 'pool', name: 'p' },
      { tier: 'api', name: 'g/a' },
      { tier: 'api', name: 'g/b' },
    ] as const) {
      const real = await connection.call('zrange', (client) => client.zrange(keys[set](tier), '0', '-1'));
      expect(report.held[`${set}:${keys.tierKey(tier)}`] ?? [], `${set} of ${tier.name}`).toEqual(real.sort());
    }
  }

  // The same log capped, by the server and at places of our own.
  await connection.call('xtrim', (client) => client.xtrim(keys.log, 'MAXLEN', '3000'));
  const capped = await readDecisionLog(connection, keys);
  expect(capped).toMatchObject({ whole: false, written: log.entries.length });
  for (const from of [0, 1, 500, 2_000, 2_990]) {
    const part = audit(capped.entries.slice(from), { configured, whole: false, live: capped.live });
    expect(part, `from ${from}`).toMatchObject({ violations: [], unexplained: [] });
  }
});

test('a log without an entry, and one that is read while it grows', async () => {
  const { gate, connection, stage } = await openGate(configured, { epoch: null });
  const keys = cellKeys(stage);
  expect(await readDecisionLog(connection, keys)).toEqual({ entries: [], whole: true, written: 0, live: {} });
  await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: 1 });
  let isRead = false;
  const growing = (async () => {
    while (!isRead) {
      const task = ask();
      await gate.admit(task);
      await gate.release({ ...task, ended: { pointerMs: 0 } });
    }
  })();
  await expect
    .poll(async () => (await readDecisionLog(connection, keys)).entries.length, { timeout: 20_000 })
    .toBeGreaterThan(2_500);
  const { whole, entries, live } = await readDecisionLog(connection, keys);
  isRead = true;
  await growing;
  expect(whole).toBe(true);
  expect(audit(entries, { configured, whole, live })).toMatchObject({ violations: [], unexplained: [] });
});

test('`npm run audit` ends with 0 on a good log, 1 on one that breaks a limit, 2 and one line where it cannot look', async () => {
  const { connection, stage } = await openGate({});
  const tiers = 'pool:examples api:examples/probe tenant:T ip:I';
  const log = writtenLog({ tiers, seats: [24, '-', '-', '-'], slots: [4, '-', '-', '-'] });
  const write = () =>
    connection.call('xadd', async (client) => {
      for (const text of log.texts.splice(0)) await client.xadd(cellKeys(stage).log, '*', 'e', text);
    });
  const members = Array.from({ length: 5 }, () => `t|${newTaskId()}`);
  for (const member of members.slice(0, 4)) log.acquire(member);
  await write();
  const address = ['--redis', `redis://127.0.0.1:${inject('ports').redis}`, '--stage', stage];
  expect(run(address)).toMatchObject({ status: 0, stdout: expect.stringContaining('No violation.') });

  log.acquire(members[4] ?? '');
  await write();
  const broken = run(address);
  expect(broken).toMatchObject({ status: 1, stderr: '' });
  expect(broken.stdout).toMatch(/1 violation:\n.* pool:examples slots: 5 held over the limit of 4 \(by t\|/);
  expect(JSON.parse(run([...address, '--json']).stdout)).toMatchObject({
    violations: [{ kind: 'over_limit', use: 5 }],
  });

  expect(run(['--redis', 'redis://127.0.0.1:1'])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^error: redis: .*\n$/),
  });
  expect(run([...address, '--password-env', 'NOT_SET'])).toMatchObject({
    status: 2,
    stderr: 'error: --password-env: NOT_SET is not set\n',
  });
});

function run(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/audit.ts', ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

function sum(counts: readonly Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const each of counts) for (const [name, count] of Object.entries(each)) total[name] = (total[name] ?? 0) + count;
  return total;
}
