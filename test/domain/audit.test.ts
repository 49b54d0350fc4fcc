import { describe, expect, test } from 'vitest';
import { audit } from '../../lib/domain/audit.ts';
import { goodLog, newLog, newMember, otherClient, tasks, whole } from '../support/decision-log.ts';

const { a, b, c, d } = tasks;

describe('a log without a fault', () => {
  test('nothing is found, and peaks say how much, under which limit, and by whom', () => {
    const report = audit(goodLog().entries(), whole);
    expect(report.violations).toEqual([]);
    expect(report.unexplained).toEqual([]);
    expect(report.peaks.find(({ tier, set }) => tier === 'pool:p' && set === 'slots')).toMatchObject({
      use: 2,
      limit: 2,
      member: b,
      by: 'acquire',
      grants: 5,
    });
    expect(report.peaks.find(({ tier, set }) => tier === 'pool:p' && set === 'seats')).toMatchObject({
      use: 3,
      limit: 3,
      member: c,
    });
    expect(report.held['slots:pool:p']).toEqual([`${c}#1`]);
  });

  test('a client’s set vanishes with its last lease, so its old members count against nobody', () => {
    const log = newLog().admit(a, { seatFor: 1_000 }).admit(b, { seatFor: 2_000 }).pass(2_000);
    const pool = `seats:pool:p`;
    const report = audit(log.sweep(pool, 0, a, b).admit(c).admit(d).entries(), whole);
    expect(report.violations).toEqual([]);
    expect(report.held['seats:ip:I']).toEqual([c, d].sort());
  });

  test('leases that a sweep left, because it drops a hundred at most, are not counted', () => {
    const lapsed = Array.from({ length: 3 }, () => newMember());
    const log = newLog();
    for (const [n, member] of lapsed.entries()) log.admit(member, { ...otherClient(`X${n}`), seatFor: 1_000 });
    log
      .pass(1_000)
      .limits(1, 'inSystem:pool:p=1')
      .sweep('seats:pool:p', 2, lapsed[0] ?? '');
    log.admit(a, { limits: [1, '-', '-', 2] });
    expect(audit(log.entries(), whole).violations).toEqual([]);
    // Without the sweep's word they would be.
    const mute = log.texts.map((text) => text.replace(/(seats:pool:p) 2/, '$1 0'));
    log.texts.splice(0, log.texts.length, ...mute);
    expect(audit(log.entries(), whole).violations).toMatchObject([{ kind: 'over_limit', use: 3, limit: 1 }]);
  });

  test('what a rebuild puts back may exceed a limit that was lowered meanwhile; the next grant may not', () => {
    const log = newLog().limits(4, 'running:pool:p=1', 'inSystem:pool:p=9').restore(a, 1).restore(b, 1);
    expect(audit(log.entries(), whole)).toMatchObject({ violations: [], unexplained: [] });
    log.acquire(c, { limits: [1, '-', '-', '-'] });
    expect(audit(log.entries(), whole).violations).toMatchObject([{ kind: 'over_limit', use: 3, limit: 1, member: c }]);
  });
});

describe('a planted fault is found', () => {
  test('one seat too many', () => {
    const log = newLog();
    for (const [n, member] of [a, b, c, d].entries()) log.admit(member, otherClient(`X${n}`));
    expect(audit(log.entries(), whole).violations).toMatchObject([
      { kind: 'over_limit', tier: 'pool:p', set: 'seats', use: 4, limit: 3, member: d, at: log.now() },
    ]);
  });

  test('one client over its own limit while the pool has room', () => {
    expect(audit(newLog().admit(a).admit(b).admit(c).entries(), whole).violations).toMatchObject([
      { kind: 'over_limit', tier: 'ip:I', set: 'seats', use: 3, limit: 2, member: c },
    ]);
  });

  test('one running task too many', () => {
    expect(audit(newLog().acquire(a).acquire(b).acquire(c).entries(), whole).violations).toMatchObject([
      { kind: 'over_limit', tier: 'pool:p', set: 'slots', use: 3, limit: 2, member: c },
    ]);
  });

  test('permits that do not fit: one and two on two slots', () => {
    expect(audit(newLog().acquire(a).acquire(b, { permits: 2 }).entries(), whole).violations).toMatchObject([
      { kind: 'over_limit', set: 'slots', use: 3, limit: 2, member: b },
    ]);
  });

  test('two attempts of one task at once', () => {
    const log = newLog().acquire(a).pass(14_999).acquire(a, { attempt: 2 });
    expect(audit(log.entries(), whole).violations).toMatchObject([{ kind: 'double_grant', member: a }]);
    expect(audit(newLog().acquire(a).pass(15_000).acquire(a, { attempt: 2 }).entries(), whole).violations).toEqual([]);
  });

  test('a grant held to another limit than the configured one, and than the live one', () => {
    const log = newLog()
      .acquire(a, { limits: [4, '-', '-', '-'] })
      .limits(1, 'running:pool:p=1', 'inSystem:ip=1');
    log.release(a, 1, 1).acquire(b).admit(b);
    expect(audit(log.entries(), whole).violations).toMatchObject([
      { kind: 'limit_differs', recorded: 4, inForce: 2, member: a },
      { kind: 'limit_differs', recorded: 2, inForce: 1, member: b },
      { kind: 'limit_differs', tier: 'ip:I', set: 'seats', recorded: 2, inForce: 1 },
    ]);
  });

  test('a limit that is gone from the record: a tier that nobody checked', () => {
    const unlimited = { limits: ['-', '-', '-', '-'] as const };
    expect(audit(newLog().acquire(a, unlimited).entries(), whole).violations).toMatchObject([
      { kind: 'limit_differs', tier: 'pool:p', recorded: undefined, inForce: 2 },
    ]);
  });

  test('a sweep that drops a live lease', () => {
    const log = newLog().acquire(a).pass(14_999).sweep('slots:pool:p', 0, `${a}#1`);
    expect(audit(log.entries(), whole).violations).toMatchObject([{ kind: 'swept_alive', member: `${a}#1` }]);
  });
});
