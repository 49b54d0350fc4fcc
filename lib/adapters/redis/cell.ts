import type { RateRules } from '../../domain/rates.ts';
import { toTaskId } from '../../domain/task-id.ts';
import type { Limits, Tier } from '../../domain/tiers.ts';
import type { EpochMs } from '../../domain/time.ts';
import type { Claim, TaskKey } from '../../ports.ts';
import type { CellKeys } from './keys.ts';

/** Where a script runs: the cell's names, the configured limits, and the moment where a test names one. */
export type Cell = {
  readonly keys: CellKeys;
  readonly limits: Limits;
  /** Rules by name; absent = none. */
  readonly rates?: RateRules | undefined;
  readonly lockMs: number;
  readonly startWindowMs: number;
  readonly pointerMs: number;
  readonly now?: (() => EpochMs) | undefined;
};

/** What every script is given. */
export type In<Input> = { readonly cell: Cell; readonly input: Input };

export function nowOf(cell: Cell): string | number {
  return cell.now?.() ?? '';
}

/** How leases and holders name a task. */
export function member({ tenant, id }: Pick<Claim, 'tenant' | 'id'>): string {
  return `${tenant}|${id}`;
}

/** The task that `member` made this name of: a tenant may contain `|`, an id never does. */
export function readMember(name: string): TaskKey {
  const at = name.lastIndexOf('|');
  return { tenant: name.slice(0, at), id: toTaskId(name.slice(at + 1)) };
}

/** The tiers' names in the decision log, as their keys end. */
export function logNames(keys: CellKeys, tiers: readonly Tier[]): string {
  return tiers.map((tier) => keys.tierKey(tier)).join(' ');
}
