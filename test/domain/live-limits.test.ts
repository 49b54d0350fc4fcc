import { expect, test } from 'vitest';
import {
  type Changeable,
  effectiveLimits,
  mergePatch,
  readOverrides,
  tierOverrides,
} from '../../lib/domain/live-limits.ts';

const changeable: Changeable = {
  pools: { examples: { running: 4, pending: 20, maxRunning: 8 }, ai: { running: 2, pending: 20, maxRunning: 4 } },
  apis: ['examples/probe'],
  limits: { pools: {}, apis: { 'examples/probe': { running: 3 } }, tenant: {}, ip: { inSystem: 9 } },
  rates: {},
};

// The examples of RFC 7396, appendix A, whose target is an object.
test.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: 'foo' }, null, null],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('%j patched by %j', (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result);
});

test.each<[unknown, string]>([
  [[], 'the body: expected an object, got []'],
  [{ pool: {} }, 'pool: expected one of pools, apis, tenant, ip, rates'],
  [{ pools: { nope: { running: 1 } } }, 'pools.nope: expected one of examples, ai'],
  [{ pools: { examples: { runing: 1 } } }, 'pools.examples.runing: expected one of running, pending'],
  [
    { pools: { examples: { running: -1 } } },
    'pools.examples.running: expected a whole number from 0 to 1000000, got -1',
  ],
  [{ pools: { examples: { running: 1.5 } } }, 'got 1.5'],
  [{ pools: { examples: { running: '2' } } }, 'got "2"'],
  [
    { pools: { examples: { running: 9 } } },
    'expected at most 8, the consumers this pool was deployed with (maxRunning), got 9',
  ],
  [{ apis: { 'examples/nope': {} } }, 'apis.examples/nope: expected one of examples/probe'],
  [{ ip: { pending: 1 } }, 'ip.pending: expected one of running, inSystem'],
  [{ ip: 2 }, 'ip: expected an object, got 2'],
  [{ __proto__: 1, constructor: {} }, 'constructor: expected one of'],
])('%j is refused by its path', (given, message) => {
  const read = readOverrides(given, changeable);
  expect(read.kind === 'faults' && read.faults.map((fault) => `${fault.path}: ${fault.message}`).join('\n')).toContain(
    message,
  );
});

test('what is empty is no override', () => {
  expect(readOverrides({ pools: { examples: {} }, ip: {}, apis: {} }, changeable)).toEqual({
    kind: 'overrides',
    overrides: {},
  });
});

test('limits in force: what is overridden, and the rest as configured', () => {
  const overrides = {
    pools: { examples: { pending: 0 } },
    ip: { running: 0 },
    apis: { 'examples/probe': { inSystem: 5 } },
  };
  expect(effectiveLimits(changeable, overrides)).toEqual({
    pools: { examples: { running: 4, pending: 0 }, ai: { running: 2, pending: 20 } },
    apis: { 'examples/probe': { running: 3, inSystem: 5 } },
    tenant: {},
    ip: { inSystem: 9, running: 0 },
    rates: {},
  });
  expect(tierOverrides(changeable, overrides)).toEqual([
    { tier: { tier: 'pool', name: 'examples' }, limits: { running: 4, inSystem: 4 } },
    { tier: { tier: 'api', name: 'examples/probe' }, limits: { inSystem: 5 } },
    { tier: { tier: 'ip', name: '*' }, limits: { running: 0 } },
  ]);
});
