import { styleText } from 'node:util';

export type Column = {
  readonly title: string;
  /** Numbers and durations stand to the right. */
  readonly right?: boolean;
  /** May be cut to this many characters where the terminal is narrow, at the end unless `keep` says otherwise. */
  readonly least?: number;
  readonly keep?: 'end';
};

const gap = 2;

/** A table in plain text, no wider than `width` as far as its columns may be cut. Style only where `stream` takes it (a terminal, no NO_COLOR). */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, stream }: { width: number; stream: NodeJS.WriteStream },
): string[] {
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  let over = widths.reduce((sum, each) => sum + each + gap, -gap) - width;
  for (const [at, { least, title }] of columns.entries()) {
    if (over <= 0 || least === undefined) continue;
    const cut = Math.min(over, Math.max(0, (widths[at] ?? 0) - Math.max(least, title.length)));
    widths[at] = (widths[at] ?? 0) - cut;
    over -= cut;
  }
  const line = (cells: readonly string[]) =>
    columns
      .map(({ right, keep }, at) => {
        const cell = clip(cells[at] ?? '', widths[at] ?? 0, keep);
        return right === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
      })
      .join(' '.repeat(gap))
      .trimEnd();
  const head = styleText('bold', line(columns.map(({ title }) => title)), { stream });
  return [head, ...rows.map(line)];
}

function clip(text: string, width: number, keep: Column['keep']): string {
  if (text.length <= width) return text;
  return keep === 'end' ? `…${text.slice(text.length - width + 1)}` : `${text.slice(0, width - 1)}…`;
}

/** `0s`, `12s`, `4m05s`, `2h10m`, `3d04h`. */
export function duration(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  if (seconds < 60) return `${seconds}s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (hours === 0) return `${minutes}m${pad(seconds % 60)}s`;
  return hours < 24 ? `${hours}h${pad(minutes % 60)}m` : `${Math.floor(hours / 24)}d${pad(hours % 24)}h`;
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
