import { Blows } from './blows.ts';
import type { Struck } from './comebacks.ts';
import type { Strike } from './dice.ts';
import type { Call, Watch } from './proxy/call.ts';
import { type Stand, type StandOptions, startStand } from './stand.ts';
import { Strikes } from './strikes.ts';
import { Witness } from './witness.ts';

/** A stack behind its proxies, who sees all they pass on, and what strikes it. */
export type Field = {
  readonly stand: Stand;
  readonly strikes: Strikes;
  readonly witness: Witness;
  readonly blows: Blows;
  /** Function processes that were struck. */
  readonly struck: readonly Struck[];
};

/** Starts a stack whose functions and services can be struck. When it rejects, nothing is left running. */
export async function openField(options: Omit<StandOptions, 'watch'>): Promise<Field> {
  const witness = new Witness();
  const struck: Struck[] = [];
  let blows: Blows | undefined;
  const hit = async (strike: Strike, pid: number, call: Call) => {
    const { blow, place } = strike;
    witness.history.add(call.taskId, told(strike, pid));
    if (blow.victim !== 'function') return (await blows?.deal(blow, pid, undefined)) ?? false;
    struck.push({ by: place.by, task: call.taskId, at: Date.now(), kind: blow.kind });
    const waits = blow.kind === 'freeze' && blow.overtaken && call.taskId !== undefined;
    return (await blows?.deal(blow, pid, waits ? witness.untilStart(call.taskId) : undefined)) ?? false;
  };
  const strikes = new Strikes(hit);
  const watch: Watch = {
    before(call, connection) {
      witness.sawRequest(call);
      return strikes.before(call, connection);
    },
    after(call, reply, connection) {
      witness.sawReply(call, reply, connection);
      return strikes.after(call, reply, connection);
    },
  };
  const stand = await startStand({ ...options, watch });
  blows = new Blows(stand.stack.state, stand.relays);
  return { stand, strikes, witness, blows, struck };
}

function told({ number, point, place, blow }: Strike, pid: number): string {
  const what = blow.kind === 'freeze' ? `freeze ${blow.victim} for ${blow.ms} ms` : `${blow.kind} ${blow.victim}`;
  return `*** strike ${number} at ${point} (${place.when} ${place.call} of ${place.by} ${pid}): ${what}`;
}
