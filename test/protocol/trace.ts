import type { Move } from './moves.ts';
import { replay } from './walk.ts';
import type { Setup, World } from './world.ts';

/** The smallest trace that deleting moves leads to, which still breaks the same invariant. */
export function shrink(setup: Setup, moves: readonly Move[], invariant: string): Move[] {
  const breaks = (some: readonly Move[]) => replay(setup, some).violation?.invariant === invariant;
  let best = [...moves];
  for (let chunk = Math.ceil(best.length / 2); chunk >= 1; chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2)) {
    for (let from = 0; from < best.length; ) {
      const shorter = [...best.slice(0, from), ...best.slice(from + chunk)];
      if (breaks(shorter)) best = shorter;
      else from += chunk;
    }
  }
  return best;
}

/** One line a move, as it is about to happen. */
export function describe(move: Move, world: World): string {
  const time = `t=${world.now}`.padEnd(8);
  const actor = 'actor' in move ? world.actors.find(({ name }) => name === move.actor) : undefined;
  if (move.do === 'step') {
    if (actor === undefined) return '';
    const { action, args } = actor.call;
    const how = move.how === 'ok' ? '' : `   (${move.how})`;
    return `${time}${actor.name.padEnd(14)}${action.service}.${action.name} ${short(args)}${move.pick === undefined ? '' : ` → ${move.pick}`}${how}`;
  }
  const { do: what, ...rest } = move;
  return `${time}${'-'.padEnd(14)}${what} ${short(rest)}`;
}

function short(value: unknown): string {
  return JSON.stringify(value)?.replaceAll('"', '') ?? '';
}

/** The whole story of a trace: its moves, then the fair continuation where the violation needs it. */
export function tell(setup: Setup, moves: readonly Move[]): string[] {
  const lines: string[] = [];
  let told = 0;
  const world = replay(setup, moves, (move, before) => {
    if (told++ === moves.length) lines.push('— faults stop, everyone goes on —');
    const line = describe(move, before);
    if (line !== '') lines.push(line);
  });
  const { invariant, why } = world.violation ?? { invariant: 'nothing', why: '' };
  const shown =
    lines.length > 120 ? [...lines.slice(0, 90), `… ${lines.length - 110} lines …`, ...lines.slice(-20)] : lines;
  return [
    `limits ${short(setup.limits)}, server clock ahead by ${setup.redisSkew}`,
    ...shown,
    `⇒ ${invariant}: ${why}`,
  ];
}
