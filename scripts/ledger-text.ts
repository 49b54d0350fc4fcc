import { styleText } from 'node:util';
import * as z from 'zod';
import { type Column, duration, table } from './table.ts';

/** What GET operator/slots answers, as far as the ledger shows it. */
export const slotsAnswer = z.object({
  at: z.iso.datetime(),
  items: z.array(
    z.object({
      taskId: z.string(),
      tier: z.string(),
      name: z.string(),
      permits: z.int(),
      lapsesAt: z.iso.datetime(),
      attempt: z.int().optional(),
      since: z.iso.datetime().optional(),
      lastHeartbeat: z.iso.datetime().optional(),
    }),
  ),
});
export type SlotsAnswer = z.output<typeof slotsAnswer>;
type Slot = SlotsAnswer['items'][number];

const columns: readonly Column[] = [
  { title: 'task', least: 9, keep: 'end' },
  { title: 'tier' },
  { title: 'name', least: 12 },
  { title: 'try', right: true },
  { title: 'slots', right: true },
  { title: 'since', right: true },
  { title: 'heartbeat', right: true },
  { title: 'lapses', right: true },
];

/** The ledger as a person reads it at a terminal of `width` characters; times count from the server's own moment. */
export function ledgerLines(
  { at, items }: SlotsAnswer,
  { width, stream, most }: { width: number; stream: NodeJS.WriteStream; most: number },
): string[] {
  const now = Date.parse(at);
  const sorted = [...items].sort(
    (one, other) =>
      one.tier.localeCompare(other.tier) * -1 || one.name.localeCompare(other.name) || age(other) - age(one),
  );
  const cells = sorted.slice(0, most).map((slot) => slotCells(slot, now));
  const summary = styleText('dim', `${at}  ${perTier(sorted)}`.slice(0, width), { stream });
  if (items.length === 0) return [styleText('dim', `${at}  nobody holds a slot`, { stream })];
  const hidden = sorted.length > most ? [`… and ${sorted.length - most} more`] : [];
  return [summary, ...table(columns, cells, { width, stream }), ...hidden];

  function age({ since }: Slot): number {
    return since === undefined ? 0 : now - Date.parse(since);
  }
}

function slotCells({ taskId, tier, name, attempt, permits, since, lastHeartbeat, lapsesAt }: Slot, now: number) {
  const ago = (time: string | undefined) => (time === undefined ? '?' : duration(now - Date.parse(time)));
  const heartbeat = lastHeartbeat === undefined ? '?' : `${ago(lastHeartbeat)} ago`;
  const lapses = `in ${duration(Date.parse(lapsesAt) - now)}`;
  return [
    taskId,
    tier,
    name,
    attempt === undefined ? '?' : String(attempt),
    String(permits),
    ago(since),
    heartbeat,
    lapses,
  ];
}

function perTier(slots: readonly Slot[]): string {
  const counts = new Map<string, number>();
  for (const { tier, name, permits } of slots) {
    const key = `${tier} ${name}`;
    counts.set(key, (counts.get(key) ?? 0) + permits);
  }
  return [...counts].map(([key, count]) => `${key} ${count}`).join(' · ');
}
