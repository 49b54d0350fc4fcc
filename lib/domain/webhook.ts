import { Webhook } from 'standardwebhooks';
import type { TaskRecord } from './task-record.ts';
import { taskView } from './task-view.ts';
import { type EpochMs, isoTime } from './time.ts';

/** What is posted to a callback, ready to send: the signature is over these very bytes. */
export type WebhookRequest = { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };

/**
 * The news of an ended task, as Standard Webhooks has it: `{type: 'task.succeeded', timestamp, data}`, `data` being the task without the state of this
 * very delivery, so that each try sends the same body under the same `webhook-id`. Only `webhook-timestamp`, and with it the signature, is of the try.
 */
export function webhookOf(
  record: TaskRecord,
  { secret, baseUrl, at }: { readonly secret: string; readonly baseUrl: string; readonly at: EpochMs },
): WebhookRequest {
  if (record.finishedAt === undefined) throw new Error(`expected an ended task, ${record.id} is ${record.status}`);
  const text = JSON.stringify({
    type: `task.${record.status}`,
    timestamp: isoTime(record.finishedAt),
    data: taskView({ ...record, delivery: undefined }, baseUrl),
  });
  return {
    body: Buffer.from(text),
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Weir',
      'webhook-id': record.id,
      'webhook-timestamp': String(Math.floor(at / 1_000)),
      'webhook-signature': new Webhook(secret).sign(record.id, new Date(at), text),
    },
  };
}
