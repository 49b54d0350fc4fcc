import { monitorEventLoopDelay } from 'node:perf_hooks';
import { runLoad } from './behaviours.ts';
import type { Blows } from './blows.ts';
import { check, type Finding, type Verdict } from './check.ts';
import { Clients } from './client.ts';
import { judgeComebacks } from './comebacks.ts';
import { streamOf } from './dice.ts';
import { type Field, openField } from './field.ts';
import { keepReconciling } from './reconciler.ts';
import { giveSeatsBack } from './seats.ts';
import { settle } from './settle.ts';
import { type Known, type SlotWatch, watchSlots } from './slot-watch.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { runStrikers } from './strikers.ts';
import { Tally } from './tally.ts';
import { leaseMs } from './times.ts';
import type { Witness } from './witness.ts';

export type CampaignOptions = {
  readonly seed: number;
  /** The first strikes' numbers; a campaign that was interrupted goes on from its next ones. */
  readonly from: { readonly function: number; readonly service: number };
  /** Kills of function processes, and kills and freezes of services, to reach. */
  readonly kills: number;
  readonly services: number;
  /** Ends the strikes, whatever was reached. */
  readonly mostMs: number;
  /** The project's folder. */
  readonly source: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  /** Leaves the stack's folder, with its data and logs, where it is. */
  readonly keep?: boolean;
};

export type Report = {
  readonly tally: Tally;
  readonly witness: Witness;
  readonly clients: Clients;
  readonly findings: readonly Finding[];
  /** What is not as it should be at last, but may be so for now. */
  readonly explained: readonly string[];
  readonly slots: SlotWatch;
  /** How long tasks stayed with a worker that was killed, sorted. */
  readonly waitsMs: readonly number[];
  /** The numbers of the first strikes that were not dealt. */
  readonly next: CampaignOptions['from'];
  readonly strikingMs: number;
};

const clientCount = 20;
const progressEveryMs = 10_000;

/** Asked to stop before it was over: what it left half done is no finding. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly next: CampaignOptions['from'];

  constructor(next: CampaignOptions['from']) {
    super('interrupted');
    this.next = next;
  }
}

/**
 * Starts a stack, strikes it under load, lets it settle, and judges what is left. Everything it started is gone when it returns or throws.
 * Throws `Interrupted` when `signal` aborts while it strikes or settles.
 */
export async function runCampaign(options: CampaignOptions): Promise<Report> {
  const field = await openField(options);
  try {
    return await run(options, field);
  } finally {
    field.blows.thawAll();
    await field.stand.stop();
  }
}

async function run(options: CampaignOptions, { stand, strikes, witness, blows, struck }: Field): Promise<Report> {
  const { seed, from, log, signal } = options;
  const { stack } = stand;
  const tally = new Tally();
  const loadOver = new AbortController();
  const stop = AbortSignal.any([signal, loadOver.signal]);
  const clients = new Clients({ url: `${stack.url}/api/v1`, witness, stop, run: `${seed}-${from.function}` });
  const reconciler = keepReconciling((over) => stand.invoke('reconcile', over));
  const slots = watchSlots(stack.state(), knownOf(blows, witness));
  const lateness = monitorEventLoopDelay();
  lateness.enable();
  const progress = setInterval(() => {
    log(`${progressLine(tally, clients, witness)} · proxies late by ${Math.round(lateness.max / 1e6)} ms at most`);
    lateness.reset();
  }, progressEveryMs);
  try {
    const load = runLoad(clients, clientCount, streamOf(seed, 'load', from.function), stop);
    const begunAt = Date.now();
    const next = await runStrikers({ ...options, strikes, tally });
    const strikingMs = Date.now() - begunAt;
    loadOver.abort();
    await load;
    clearInterval(progress);
    log(`struck for ${Math.round(strikingMs / 1_000)} s; letting it settle`);
    await settle(stack.state, signal);
    if (signal.aborted) throw new Interrupted(next);
    slots.stop();
    await reconciler.stop();
    const verdict = judge(clients, witness, await takeSnapshot(stack.state()));
    const seats = await giveSeatsBack(stand);
    const comebacks = judgeComebacks(struck, witness.accepted, blows.outages, reconciler.runs);
    return {
      ...{ tally, witness, clients, next, strikingMs, slots, waitsMs: comebacks.waitsMs },
      findings: [...verdict.findings, ...slots.findings, ...comebacks.findings, ...seats.findings],
      explained: [...verdict.explained, ...seats.explained],
    };
  } finally {
    lateness.disable();
    loadOver.abort();
    clearInterval(progress);
    slots.stop();
    await reconciler.stop();
  }
}

function knownOf({ killed, outages }: Blows, { leases }: Witness): Known {
  return {
    pidOf: (nonce) => leases.pidOf(nonce),
    killedAt(pid) {
      const at = killed.get(pid);
      const struckSince = outages.some(({ service, until }) => service === 'redis' && until >= (at ?? 0));
      return struckSince ? undefined : at;
    },
    isRestored: () =>
      outages.some(
        ({ service, kind, until }) => service === 'redis' && kind === 'lose' && until + leaseMs > Date.now(),
      ),
  };
}

function judge(clients: Clients, witness: Witness, snapshot: Snapshot): Verdict {
  const { accepted, creations, broken } = witness;
  const { findings, explained } = check({
    snapshot,
    promised: clients.promised,
    cancels: clients.cancels,
    accepted,
    creations,
    broken,
  });
  const unexpected = clients.unexpected.map((what) => ({ kind: 'unexpected answer', what }));
  const unseen = {
    kind: 'unseen',
    what: `${witness.unknownScripts} calls of scripts that are not in the generated sources`,
  };
  return { findings: [...findings, ...unexpected, ...(witness.unknownScripts > 0 ? [unseen] : [])], explained };
}

function progressLine(tally: Tally, { promised }: Clients, witness: Witness): string {
  const ended = [...promised.keys()].filter((id) => witness.endOf(id) !== undefined).length;
  const late = [...witness.refusedLate.values()].reduce((sum, count) => sum + count, 0);
  return [
    `functions: ${tally.of('function killed')} killed, ${tally.of('function frozen')} frozen`,
    `services: ${tally.serviceBlows} killed or frozen`,
    `tasks: ${promised.size} promised, ${ended} ended`,
    `${late} late writes refused`,
  ].join(' · ');
}
