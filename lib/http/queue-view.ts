import type { Expectation } from '../operations/outlook.ts';

/** A place in line: `position` 1 is the next of its pool to start; `etaMs` is left out where nothing can be told. */
export function queueView({ position, eta }: Expectation): Record<string, unknown> {
  if (eta.kind === 'unknown') return { position };
  return { position, etaMs: { p50: eta.p50, p90: eta.p90 }, basis: eta.kind };
}
