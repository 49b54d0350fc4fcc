import * as z from 'zod';

/** The body holds few such texts: this keeps one of them from being all of it. */
const text = z.string().max(100_000);
const labels = z.record(z.string(), text);
/** More than a notification of one group has; `max_alerts` of the sender's configuration sets fewer. */
const mostAlerts = 5_000;

const alert = z.looseObject({
  status: z.enum(['firing', 'resolved']),
  labels,
  annotations: labels,
  startsAt: text,
  endsAt: text,
  generatorURL: text,
  fingerprint: text,
});

/**
 * What Prometheus Alertmanager posts to a webhook receiver, version 4: one group of alerts, as it is now. `status` is `resolved` once no alert of the
 * group fires. `groupKey` names the group for as long as its route has the same place and labels. Members of later versions pass.
 */
export const alertmanagerEvent = z.looseObject({
  version: z.literal('4'),
  groupKey: z.string().min(1).max(10_000),
  truncatedAlerts: z.int().min(0).optional(),
  status: z.enum(['firing', 'resolved']),
  receiver: text,
  groupLabels: labels,
  commonLabels: labels,
  commonAnnotations: labels,
  externalURL: text,
  alerts: z.array(alert).max(mostAlerts),
});
export type AlertmanagerEvent = z.output<typeof alertmanagerEvent>;
