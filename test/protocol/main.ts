import { parseArgs } from 'node:util';
import { allRules, type Found, isAsSaid, revert } from './reversions.ts';
import { type Rule, rules } from './rules.ts';
import { scenarios, search } from './search.ts';
import { shrink, tell } from './trace.ts';
import { walk } from './walk.ts';

const usage = `npm run check:protocol -- [options]        (nothing: walks for 30 s, a small exhaustive search, every reversion)
  --steps N         random walks alone, N steps
  --minutes N       random walks alone, N minutes
  --seed N          that walk alone, with its trace if it breaks something
  --exhaustive      the exhaustive search alone, with five times the states
  --only NAME       one reversion alone, with its shortest trace; with --seed, from that seed on
                    (${allRules.join(', ')})`;

const length = 300;
const walkMs = 30_000;
const statesEach = 80_000;
const none: ReadonlySet<Rule> = new Set();
/** A reversion that should be found is; on one that breaks nothing this much is spent to see that it does not. */
const steps = { toFind: 20_000_000, toTrust: 400_000 };

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

function tellFound({ setup, moves, invariant, seed }: Found): void {
  say(
    `  seed ${seed}; the shortest trace found:`,
    ...tell(setup, shrink(setup, moves, invariant)).map((line) => `    ${line}`),
  );
}

/** Random walks with nothing undone, until one breaks something or the time or the steps are over. */
function walkAll(firstSeed: number, enough: (made: number, seconds: number) => boolean): boolean {
  const begunAt = performance.now();
  let made = 0;
  for (let seed = firstSeed; ; seed++) {
    const { world, setup, moves } = walk(seed, { reverted: none, length, seen: () => made++ });
    const seconds = (performance.now() - begunAt) / 1_000;
    if (world.violation !== undefined) {
      say(`VIOLATION of ${world.violation.invariant}: ${world.violation.why}`);
      tellFound({ ...world.violation, setup, moves, seed });
      return false;
    }
    if (seed % 1_000 === 0) progress(`walks: seed ${seed}, ${made} steps`);
    if (!enough(made, seconds)) continue;
    progress('');
    say(`walks: seeds ${firstSeed} to ${seed}, ${made} steps in ${seconds.toFixed(0)} s, no violation`);
    return true;
  }
}

function searchAll(mostStates: number): boolean {
  let fine = true;
  for (const scenario of scenarios) {
    progress(`exhaustive: ${scenario.name}`);
    const { states, depth, complete, broken } = search(scenario, mostStates);
    progress('');
    const end = complete ? 'all' : `every interleaving of ${depth} moves`;
    say(`exhaustive: ${scenario.name}: ${states} states (${end})${broken ? '' : ', no violation'}`);
    if (broken === undefined) continue;
    fine = false;
    const { violation, setup } = broken.world;
    say(`VIOLATION of ${violation?.invariant}: ${violation?.why}`, ...tell(setup, broken.moves));
  }
  return fine;
}

function revertAll(chosen: readonly Rule[], seed: number): boolean {
  let wrong = 0;
  for (const rule of chosen) {
    const { undone, breaks, why, added } = rules[rule];
    progress(`undone: ${undone}`);
    const tried = revert(rule, breaks === 'none' ? steps.toTrust : steps.toFind, seed);
    progress('');
    const { found } = tried;
    const end = found
      ? `${found.invariant} after ${tried.steps} steps, seed ${found.seed}`
      : `nothing in ${tried.steps} steps`;
    const asSaid = isAsSaid(tried);
    if (!asSaid) wrong++;
    const mark = asSaid ? ' ' : '!';
    say(
      `${mark} ${breaks.padEnd(4)} ${rule.padEnd(25)} ${end}${added ? ' (added)' : ''}: ${undone}${why ? ` (${why})` : ''}`,
    );
    if (found !== undefined && chosen.length === 1) tellFound(found);
  }
  say(`reversions: ${chosen.length}, of which ${wrong} not as said`);
  return wrong === 0;
}

function main(): boolean {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
      exhaustive: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const seed = Number(values.seed ?? 0);
  if (values.help) {
    say(usage);
    return true;
  }
  if (values.only !== undefined) {
    const rule = allRules.find((name) => name === values.only);
    if (rule === undefined) throw new Error(`expected one of ${allRules.join(', ')}, got ${values.only}`);
    return revertAll([rule], seed);
  }
  if (values.exhaustive) return searchAll(5 * statesEach);
  if (values.steps !== undefined) return walkAll(seed, (made) => made >= Number(values.steps));
  if (values.minutes !== undefined) return walkAll(seed, (_, seconds) => seconds >= 60 * Number(values.minutes));
  if (values.seed !== undefined) return walkAll(seed, () => true);
  const parts = [walkAll(0, (_, seconds) => 1_000 * seconds >= walkMs), searchAll(statesEach), revertAll(allRules, 0)];
  return parts.every(Boolean);
}

process.exitCode = main() ? 0 : 1;
