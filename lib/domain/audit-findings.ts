import type { Grant, Peak, Unexplained, Violation } from './audit-report.ts';
import type { EpochMs } from './time.ts';

/** What an audit found from `since` on; what was before only counts for what was held. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly unexplained: Unexplained[] = [];
  readonly peaks = new Map<string, Peak & { grants: number }>();
  readonly #since: EpochMs | undefined;

  constructor(since: EpochMs | undefined) {
    this.#since = since;
  }

  violate(violation: Violation): void {
    if (this.#isJudged(violation.at)) this.violations.push(violation);
  }

  wonder(finding: Unexplained): void {
    if (finding.kind === 'unreadable' || this.#isJudged(finding.at)) this.unexplained.push(finding);
  }

  /** After a decision a tier held `use`. */
  held(grant: Grant, by: Peak['by'], use: number, limit: number | undefined): void {
    if (!this.#isJudged(grant.at)) return;
    const key = `${grant.set}:${grant.tier}`;
    const known = this.peaks.get(key);
    const grants = (known?.grants ?? 0) + 1;
    if (known !== undefined && known.use >= use) known.grants = grants;
    else this.peaks.set(key, { ...grant, use, ...(limit === undefined ? {} : { limit }), by, grants });
  }

  #isJudged(at: EpochMs): boolean {
    return this.#since === undefined || at >= this.#since;
  }
}
