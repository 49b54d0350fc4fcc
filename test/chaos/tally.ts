import type { Strike } from './dice.ts';
import { points } from './points.ts';

const columns = ['function killed', 'function frozen', 'redis', 'dynamodb', 'sqs', 'missed'] as const;
type Column = (typeof columns)[number];

/** Counts strikes by point and by what they did to whom. */
export class Tally {
  readonly #counts = new Map<string, number>();
  /** Blows at services by what they were, `redis killed` and so on. */
  readonly services = new Map<string, number>();

  add({ point, blow }: Strike, kind: 'struck' | 'missed'): void {
    const done = { kill: 'killed', freeze: 'frozen', cut: 'cut', lose: 'lost its data' }[blow.kind];
    const atFunction = blow.kind === 'kill' ? 'function killed' : 'function frozen';
    const column: Column = kind === 'missed' ? 'missed' : blow.victim === 'function' ? atFunction : blow.victim;
    const key = `${point}|${column}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (kind === 'missed' || blow.victim === 'function') return;
    const at = `${blow.victim} ${done}`;
    this.services.set(at, (this.services.get(at) ?? 0) + 1);
  }

  of(column: Column): number {
    return points.reduce((sum, { name }) => sum + this.#at(name, column), 0);
  }

  /** Services that were killed or frozen; connections that were cut and data that was lost do not count. */
  get serviceBlows(): number {
    return [...this.services].reduce((sum, [what, count]) => sum + (/ (killed|frozen)$/.test(what) ? count : 0), 0);
  }

  table(): string[] {
    const width = Math.max(...points.map(({ name }) => name.length));
    const line = (name: string, cells: readonly (string | number)[]) =>
      `  ${name.padEnd(width)}${cells.map((cell, index) => String(cell).padStart((columns[index]?.length ?? 0) + 3)).join('')}`;
    const rows = points.map(({ name }) =>
      line(
        name,
        columns.map((column) => this.#at(name, column)),
      ),
    );
    const sums = line(
      'in all',
      columns.map((column) => this.of(column)),
    );
    return [line('', columns), ...rows, sums];
  }

  #at(point: string, column: Column): number {
    return this.#counts.get(`${point}|${column}`) ?? 0;
  }
}
