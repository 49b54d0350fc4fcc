import type { EpochMs } from '../../../lib/domain/time.ts';

/**
 * Seats or slots of one tier: members and the moment each lease is over. From that moment on it counts no more, but it is only dropped when the tier
 * seems full.
 */
export class Leases {
  readonly ends = new Map<string, number>();
  /** When a client's set goes by itself: the latest end it was ever given. */
  lastEnd = 0;

  set(member: string, end: EpochMs): void {
    if (this.ends.size === 0) this.lastEnd = 0;
    this.ends.set(member, end);
    this.lastEnd = Math.max(this.lastEnd, end);
  }

  /** A lease is never made shorter. */
  raise(member: string, end: EpochMs): void {
    this.set(member, Math.max(end, this.ends.get(member) ?? 0) as EpochMs);
  }

  remove(member: string): boolean {
    return this.ends.delete(member);
  }

  isLive(member: string, now: EpochMs): boolean {
    return (this.ends.get(member) ?? 0) > now;
  }

  /** Live members, the one that lapses first at the front. */
  live(now: EpochMs): string[] {
    return this.sorted().flatMap(([member, end]) => (end > now ? [member] : []));
  }

  sorted(): [string, number][] {
    return [...this.ends].sort(([a, endA], [b, endB]) => endA - endB || (a < b ? -1 : 1));
  }

  /** How many leases stand in the way of one more where `full` are too many; lapsed ones are dropped only then. */
  count(now: EpochMs, full: number): number {
    if (this.ends.size < full) return this.ends.size;
    for (const [member, end] of this.ends) if (end <= now) this.ends.delete(member);
    return this.ends.size;
  }
}
