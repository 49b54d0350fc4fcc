/** What may happen in a walk beside posts, work, reconcile and time. Each walk leaves some out, so that the others meet more often. */
export const features = [
  'crash',
  'reply',
  'late',
  'stall',
  'twice',
  'purge',
  'cancel',
  'approve',
  'limits',
  'lose',
  'outage',
  'skew',
  'unbounded',
  'new',
] as const;
export type Feature = (typeof features)[number];
