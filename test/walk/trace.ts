import { Dice } from './dice.ts';
import { makeStep, type Step } from './steps.ts';
import { type Disagreement, replay, type WalkOptions } from './walk.ts';

/** The smallest walk that deleting steps leads to, on which the model and Redis still do not agree. */
export async function shrink(found: Disagreement, options: Omit<WalkOptions, 'steps' | 'seen'>): Promise<Disagreement> {
  let best = found;
  for (let chunk = Math.ceil(best.steps.length / 2); chunk >= 1; chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2)) {
    for (let from = 0; from < best.steps.length; ) {
      const some = [...best.steps.slice(0, from), ...best.steps.slice(from + chunk)];
      const shorter = await replay(found.seed, some, options);
      if (shorter === undefined) from += chunk;
      else best = shorter;
    }
  }
  return best;
}

/** The story of a disagreement: limits, a line for each step with the model's answer, and both answers at its end. */
export function tell({ seed, steps, expected, actual, command }: Disagreement): string[] {
  const { world } = new Dice(seed);
  const begun = world.now;
  const lines = steps.map((step) => {
    const time = `t=${world.now - begun}`.padEnd(10);
    const answer = makeStep(world, step);
    return `${time} ${describe(step)}${answer === undefined ? '' : `\n${' '.repeat(11)}→ ${JSON.stringify(answer)}`}`;
  });
  const { pools, apis, tenant, ip } = world.settings.limits;
  return [
    `seed ${seed}, moments from ${begun}, limits ${JSON.stringify({ pools, apis, tenant, ip })}`,
    ...(lines.length > 60 ? [`… ${lines.length - 60} steps …`, ...lines.slice(-60)] : lines),
    ...(command === undefined ? [] : [`⇒ then ${command}`]),
    `⇒ model: ${JSON.stringify(expected)}`,
    `⇒ Redis: ${JSON.stringify(actual)}`,
  ];
}

function describe(step: Step): string {
  if (step.do !== 'call') {
    const { do: what, ...rest } = step;
    return `${what} ${JSON.stringify(rest)}`;
  }
  return `${step.call}${step.short ? ' (last argument missing)' : ''} ${JSON.stringify(step.input)}`;
}
