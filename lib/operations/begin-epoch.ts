import type { Deps } from './deps.ts';

/**
 * A system whose settings never had an epoch is new: it gets one at once, in DynamoDB first. Any caller may finish a beginning that another left half
 * done. One that had begun and lost its epoch in Redis lost its leases with it: it stays closed, because admitting now could exceed a limit.
 */
export async function beginEpoch({
  records,
  gate,
}: Pick<Deps, 'records' | 'gate'>): Promise<{ kind: 'begun' | 'lost' }> {
  if ((await records.readEpoch()) === undefined) await records.prepareEpoch(1);
  const current = await records.readEpoch();
  if (current === undefined) throw new Error('expected the epoch that was just prepared');
  if (current.begun) return { kind: 'lost' };
  await gate.beginEpoch(current.epoch);
  await records.markEpochBegun(current.epoch);
  return { kind: 'begun' };
}
