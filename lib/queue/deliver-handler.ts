import { deliveryQueue } from '../domain/delivery-schedule.ts';
import { type DeliverDeps, deliver } from '../operations/deliver.ts';
import type { Log, Messages } from '../ports.ts';
import { queueHandler } from './queue-handler.ts';
import { readEndMessage } from './task-message.ts';

/** The consumer of the queue of deliveries. */
export function deliverHandler(deps: DeliverDeps & { readonly messages: Messages; readonly log: Log }) {
  const source = { queue: deliveryQueue, read: readEndMessage };
  return queueHandler(deps, source, ({ message }) => deliver(deps, message));
}
