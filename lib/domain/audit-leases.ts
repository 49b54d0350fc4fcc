import type { LeaseKind, Read, TierName } from './log-entry.ts';

type Lease = {
  /** It lapses then or later: heartbeats raise a lease and are not logged. */
  until: number;
  /** Its set may have vanished with it. */
  doubtful: boolean;
};

/**
 * One sorted set of the gate as the log tells it: a member stays until it is given back or swept, whether it has lapsed or not, as the gate's own
 * ZCARD counts it. A client's set also vanishes with its last lease. When exactly is unknown where heartbeats moved it, so from the moment it may
 * have vanished its members count as doubtful, and `least` leaves them out.
 */
class LeaseSet {
  readonly #members = new Map<string, Lease>();
  readonly #vanishes: boolean;

  constructor(vanishes: boolean) {
    this.#vanishes = vanishes;
  }

  /** `exactly` sets the end, as ZADD does; otherwise it only grows. */
  hold(member: string, until: number, now: number, exactly = false): void {
    this.#doubt(now);
    const known = this.#members.get(member);
    const standing = known === undefined || known.doubtful || exactly ? 0 : known.until;
    this.#members.set(member, { until: Math.max(standing, until), doubtful: false });
  }

  drop(member: string): boolean {
    return this.#members.delete(member);
  }

  /** Undefined: not known to be held. */
  until(member: string, now: number): number | undefined {
    this.#doubt(now);
    const lease = this.#members.get(member);
    return lease === undefined || lease.doubtful ? undefined : lease.until;
  }

  /** The fewest leases the gate can have counted, when a sweep just said that `left` more have lapsed and were not counted. */
  least(now: number, left: number): number {
    if (!this.#vanishes && left === 0) return this.#members.size;
    this.#doubt(now);
    let sure = 0;
    let lapsed = 0;
    for (const { until, doubtful } of this.#members.values()) {
      if (doubtful) continue;
      sure++;
      if (until <= now) lapsed++;
    }
    return left === 0 ? sure : sure - Math.min(left, lapsed);
  }

  members(): string[] {
    return [...this.#members].filter(([, { doubtful }]) => !doubtful).map(([member]) => member);
  }

  #doubt(now: number): void {
    if (!this.#vanishes) return;
    for (const { until } of this.#members.values()) if (until > now) return;
    for (const lease of this.#members.values()) lease.doubtful = true;
  }
}

export function isClientTier(tier: TierName): boolean {
  return /^(tenant|ip):/.test(tier);
}

/** Every set of a cell, made when first named. */
export class Leases {
  readonly #sets = new Map<string, LeaseSet>();
  /** Where a task may hold something, so that giving it back need not look everywhere. */
  readonly #tiers = new Map<string, Set<TierName>>();
  /** Permits of tasks of whom an attempt holds slots until it gives them back, lapsed or not. */
  readonly #holders = new Map<string, number>();

  of(set: LeaseKind, tier: TierName): LeaseSet {
    const key = `${set}:${tier}`;
    let leases = this.#sets.get(key);
    if (leases === undefined) {
      leases = new LeaseSet(isClientTier(tier));
      this.#sets.set(key, leases);
    }
    return leases;
  }

  /** `replaced`: member of the task that gave its seats to this one. */
  admit({ member, tiers, seatUntil, now }: Read<'admit'>, replaced: string | undefined): void {
    for (const { tier } of tiers) {
      const seats = this.of('seats', tier);
      if (replaced !== undefined) seats.drop(replaced);
      seats.hold(member, seatUntil, now, true);
    }
    this.#note(
      member,
      tiers.map(({ tier }) => tier),
    );
  }

  /** Slots are taken; an open record's seat is a fact, put back without a limit where it is missing. */
  acquire({ member, tiers, slotsUntil, seatUntil, permits, now }: Read<'acquire'>): void {
    for (const { tier } of tiers) {
      this.of('seats', tier).hold(member, seatUntil, now);
      for (const slot of slotMembers(member, permits)) this.of('slots', tier).hold(slot, slotsUntil, now);
    }
    this.#holders.set(member, permits);
    this.#note(
      member,
      tiers.map(({ tier }) => tier),
    );
  }

  restore({ member, tiers, seatUntil, permits, now }: Read<'restore'>): void {
    for (const tier of tiers) {
      if (seatUntil !== undefined) this.of('seats', tier).hold(member, seatUntil, now);
      // The record does not say when the slots lapse: not before now.
      for (const slot of slotMembers(member, permits)) this.of('slots', tier).hold(slot, now, now);
    }
    if (permits > 0) this.#holders.set(member, permits);
    this.#note(member, tiers);
  }

  /** False: nothing of what is given back was known to be held. */
  release({ member, slots, seats }: Read<'release'>): boolean {
    // The record does not say how many slots: as many as the attempt was granted.
    const given = slots ? slotMembers(member, this.#holders.get(member) ?? 0) : [];
    let found = slots && this.#holders.delete(member);
    for (const tier of this.#tiers.get(member) ?? []) {
      for (const slot of given) this.of('slots', tier).drop(slot);
      if (seats && this.of('seats', tier).drop(member)) found = true;
    }
    if (seats && !this.#holders.has(member)) this.#tiers.delete(member);
    return found;
  }

  /** Every set that holds something by its key, for comparison with the real ones. */
  held(): Record<string, string[]> {
    const sets = [...this.#sets].map(([key, leases]) => [key, leases.members().sort()] as const);
    return Object.fromEntries(sets.filter(([, members]) => members.length > 0));
  }

  #note(member: string, tiers: readonly TierName[]): void {
    const known = this.#tiers.get(member);
    if (known === undefined) this.#tiers.set(member, new Set(tiers));
    else for (const tier of tiers) known.add(tier);
  }
}

/** A task of n permits holds n slots. */
function slotMembers(member: string, permits: number): string[] {
  return Array.from({ length: permits }, (_, index) => `${member}#${index + 1}`);
}
