import { describe, expect, test } from 'vitest';
import { check, type Evidence } from './check.ts';
import type { StoredTask } from './snapshot.ts';
import { seatGraceMs } from './times.ts';
import type { Accepted } from './witness.ts';

/** Its first 48 bits are its moment, as in every task id. */
const madeAt = 1_800_000_000_000;
const id = idAt(madeAt);
const member = `open|${id}`;
const now = madeAt + 20_000;
const key = 'D#open#f#1';

function idAt(moment: number): string {
  const hex = moment.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
}

const task: StoredTask = {
  tenant: 'open',
  id,
  status: 'succeeded',
  attempt: 1,
  revision: 3,
  failures: 0,
  lostLeases: 0,
  dedupKey: key,
  createdAt: madeAt,
  tag: 'a',
};
const writes: Accepted[] = [
  { write: 'create', status: 'queued', attempt: 0, revision: 1, at: 1 },
  { write: 'start', status: 'running', attempt: 1, revision: 2, at: 2 },
  { write: 'finish', status: 'succeeded', attempt: 1, revision: 3, at: 3 },
];
const sound: Evidence = {
  snapshot: {
    now,
    tasks: [task],
    seats: {},
    slots: {},
    holders: [],
    timelessLocks: [],
    deadLetters: { 'work-dead': 0 },
  },
  promised: new Map([[id, { tag: 'a', at: 1 }]]),
  cancels: new Map(),
  accepted: new Map([[id, writes]]),
  creations: new Map([[key, [{ id, at: 1 }]]]),
  broken: [],
};

function withStores(over: Partial<Evidence['snapshot']>): Evidence {
  return { ...sound, snapshot: { ...sound.snapshot, ...over } };
}

function withTask(over: Partial<StoredTask>): Evidence {
  return withStores({ tasks: [{ ...task, ...over }] });
}

function withWrite(over: Partial<Accepted>): Evidence {
  return {
    ...sound,
    accepted: new Map([
      [id, [...writes, { write: 'finish', status: 'failed', attempt: 1, revision: 4, at: 4, ...over }]],
    ]),
  };
}

const other = idAt(madeAt + 1);
const old = now + seatGraceMs;

describe('the checker', () => {
  test('has nothing to say of a campaign in which nothing went wrong', () => {
    expect(check(sound)).toEqual({ findings: [], explained: [] });
  });

  test.each<[string, string, Evidence]>([
    ['lost', 'a promised task without a record', { ...withStores({ tasks: [] }), accepted: new Map() }],
    ['lost', 'an accepted write without a record', { ...withStores({ tasks: [] }), promised: new Map() }],
    ['lost write', 'a record older than a write that was accepted', withTask({ revision: 2 })],
    ['wrong task', 'an id that is of another task', { ...sound, promised: new Map([[id, { tag: 'b', at: 1 }]]) }],
    ['not ended', 'a task that waits for ever', withTask({ status: 'queued' })],
    ['not ended', 'a task that runs for ever', withTask({ status: 'running' })],
    [
      'wrong end',
      'a task that failed by itself',
      withTask({ status: 'failed', error: { code: 'handler_error', message: '' } }),
    ],
    ['wrong end', 'a task that expired', withTask({ status: 'expired' })],
    ['wrong end', 'a task that was cancelled by nobody', withTask({ status: 'cancelled' })],
    ['wrong answer', 'a cancel that was told and is not', { ...sound, cancels: new Map([[id, 'cancelled']]) }],
    [
      'wrong answer',
      'a cancel that came too late, they said',
      { ...withTask({ status: 'cancelled' }), cancels: new Map([[id, 'finished']]) },
    ],
    ['doubled outcome', 'a second end', withWrite({})],
    ['doubled outcome', 'one effect under two ids', withStores({ tasks: [task, { ...task, id: other }] })],
    ['changed after its end', 'a start after the end', withWrite({ write: 'start', status: 'running', attempt: 2 })],
    ['doubled write', 'one revision made twice', withWrite({ revision: 3 })],
    ['attempt fell', 'a write of an earlier attempt', withWrite({ attempt: 0, status: 'running' })],
    [
      'fence broken',
      'a write from a process that did not start the attempt',
      { ...sound, broken: [{ task: id, what: '' }] },
    ],
    ['unseen', 'a task no proxy saw', { ...sound, accepted: new Map() }],
    [
      'two live tasks',
      'a creation before the task before it ended',
      {
        ...sound,
        creations: new Map([
          [
            key,
            [
              { id, at: 1 },
              { id: other, at: 2 },
            ],
          ],
        ]),
      },
    ],
    [
      'leaked slot',
      'a live slot at rest',
      withStores({ slots: { 'pool:examples': [{ member: `${member}#1`, until: now + 1 }] } }),
    ],
    ['leaked holder', 'a holder of an old task that has ended', withStores({ now: old, holders: [member] })],
    [
      'leaked seat',
      'a seat of an old task that has ended',
      withStores({ now: old, seats: { 'pool:examples': [{ member, until: old + 1 }] } }),
    ],
    [
      'leaked seat',
      'an old seat without a record',
      withStores({ now: old + 1, seats: { 'pool:examples': [{ member: `open|${other}`, until: old + 2 }] } }),
    ],
    ['lock without expiry', 'a lock that stays', withStores({ timelessLocks: ['lock'] })],
    ['dead letter', 'a message that was given up', withStores({ deadLetters: { 'work-dead': 1 } })],
  ])('finds %s: %s', (kind, _, evidence) => {
    expect(check(evidence).findings.map((finding) => finding.kind)).toContain(kind);
  });

  test('takes a lease that has lapsed for none, and tells of young seats without calling them leaked', () => {
    const lapsed = [{ member: `${member}#1`, until: now }];
    const seats = { 'pool:examples': [{ member, until: now + 1 }] };
    expect(check(withStores({ slots: { 'pool:examples': lapsed }, seats }))).toEqual({
      findings: [],
      explained: [
        `1 seats of a task that has ended are younger than ${seatGraceMs / 1_000} s: reconcile may leave them until then`,
      ],
    });
  });

  test('lets a task fail whose workers were taken from it too often, and says so', () => {
    const failed = withTask({ status: 'failed', error: { code: 'worker_lost', message: '' } });
    const accepted = new Map([
      [id, writes.map((write) => (write.write === 'finish' ? { ...write, status: 'failed' } : write))],
    ]);
    const { findings, explained } = check({ ...failed, accepted });
    expect(findings).toEqual([]);
    expect(explained).toHaveLength(1);
  });
});
