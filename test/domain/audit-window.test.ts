import { describe, expect, test } from 'vitest';
import { audit } from '../../lib/domain/audit.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import { goodLog, newLog, newMember, tasks, whole } from '../support/decision-log.ts';

const { a, b, c, d } = tasks;

describe('what the log does not account for', () => {
  test('a release of nothing, a sweep of nothing, a replacement without its grant, a step back, a text', () => {
    const log = newLog().release(a, 1, 1).sweep('seats:pool:p', 0, b).replace(c).release(c, 0, 1).pass(-1).admit(d);
    log.texts.push('admit what');
    const report = audit(log.entries(), whole);
    expect(report.violations).toEqual([]);
    expect(report.unexplained.map(({ kind }) => kind)).toEqual([
      'release_of_nothing',
      'sweep_of_nothing',
      'replace_alone',
      'release_of_nothing',
      'out_of_order',
      'unreadable',
    ]);
  });

  test('of a log that begins in the middle, only tasks made after it began are missed', () => {
    const log = newLog().admit(a).release(newMember(), 1, 1);
    expect(audit(log.entries(), { ...whole, whole: false }).unexplained).toEqual([]);
    const early = toEpochMs(Date.now() - 60_000);
    const entries = log.entries().map((entry) => ({ ...entry, now: early }));
    expect(audit(entries, { ...whole, whole: false }).unexplained).toMatchObject([{ kind: 'release_of_nothing' }]);
  });
});

describe('a log that begins in the middle', () => {
  test('every suffix of a good log is good', () => {
    const entries = goodLog().entries();
    const live = { 'running:pool:p': 1, 'inSystem:pool:p': 9 };
    for (let from = 0; from < entries.length; from++) {
      const report = audit(entries.slice(from), { ...whole, whole: false, live });
      expect(report.violations, `from entry ${from}`).toEqual([]);
      expect(report.unexplained, `from entry ${from}`).toEqual([]);
    }
  });

  test('limits changed before it began: grants count against their own record until the next change is seen', () => {
    const log = newLog()
      .acquire(a, { limits: [7, '-', '-', '-'] })
      .limits(3, 'running:pool:p=1');
    const report = audit(log.entries(), { ...whole, whole: false });
    expect(report).toMatchObject({ violations: [], limitsUnknown: 4 });
    const still = newLog()
      .acquire(a, { limits: [7, '-', '-', '-'] })
      .entries();
    const live = { 'running:pool:p': 7 };
    expect(audit(still, { ...whole, whole: false, live })).toMatchObject({ violations: [], limitsUnknown: 0 });
    expect(audit(still, { ...whole, whole: false }).violations).toMatchObject([{ kind: 'limit_differs' }]);
  });

  test('what is over the limit in its own right is still found', () => {
    const entries = newLog().acquire(a).acquire(b).acquire(c).entries();
    expect(audit(entries, { ...whole, whole: false }).violations).toMatchObject([{ kind: 'over_limit' }]);
  });
});

test('`since`: what was before is counted, not judged', () => {
  const log = newLog().acquire(a).acquire(b).acquire(c);
  const since = toEpochMs(log.pass(1_000).now());
  expect(audit(log.entries(), { ...whole, since }).violations).toEqual([]);
  expect(audit(log.acquire(d).entries(), { ...whole, since }).violations).toMatchObject([{ use: 4, member: d }]);
});
