import type { Context, SQSRecord } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { skewMs } from '../../lib/domain/protocol.ts';
import { addMs, minute, second } from '../../lib/domain/time.ts';
import { deliver } from '../../lib/operations/deliver.ts';
import { deliverHandler } from '../../lib/queue/deliver-handler.ts';
import { Crashed, dying } from '../support/crash.ts';
import { answering, deliveryOf, drainDeliveries, openDeliveries } from '../support/deliveries.ts';
import { silent } from '../support/gate.ts';

describe('a message is a hint', () => {
  test('that comes again after the delivery: nothing is posted', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    for (let send = 0; send < 3; send++) await deliveries.messages.announce(ended, 'g');
    expect((await drainDeliveries(deliveries)).map(({ because }) => because)).toEqual(Array(3).fill('delivered'));
    expect(receiver.calls).toHaveLength(1);
  });

  test('that comes twice at once: of two posts one is written', async () => {
    const receiver = await answering(500, 200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    const both = await Promise.all([deliver(deliveries.deps, ended), deliver(deliveries.deps, ended)]);
    expect(both.filter(({ because }) => because === 'another try was written')).toHaveLength(1);
    expect((await deliveryOf(deliveries, ended))?.attempts).toBe(1);
    expect(deliveries.counted).toHaveLength(1);
  });

  test('that comes before the next try is due: nothing is posted, and the other message brings it', async () => {
    const receiver = await answering(500, 200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    for (let tries = 0; tries < 2; tries++) {
      const outcome = await deliver(deliveries.deps, ended);
      if (outcome.kind === 'defer' && tries === 0) deliveries.pass(outcome.afterMs);
    }
    expect(receiver.calls).toHaveLength(2);
    const other = await deliveries.end(receiver.origin, 'succeeded');
    const delivery = { status: 'pending', attempts: 2, nextAt: addMs(deliveries.deps.clock.now(), minute) } as const;
    await deliveries.deps.records.deliver(other, other.delivery as never, delivery, delivery.nextAt);
    expect(await deliver(deliveries.deps, other)).toEqual({ kind: 'ack', because: 'not due yet' });
    deliveries.pass(minute - skewMs + 1_000);
    expect(await deliver(deliveries.deps, other)).toMatchObject({ kind: 'defer', because: 'not due yet' });
    expect(receiver.calls).toHaveLength(2);
  });

  test('that is deferred by its visibility: the event source brings it back when it is due', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    const delivery = { status: 'pending', attempts: 1, nextAt: addMs(deliveries.deps.clock.now(), second) } as const;
    await deliveries.deps.records.deliver(ended, ended.delivery as never, delivery, delivery.nextAt);
    await deliveries.messages.announce(ended, 'g');
    const handler = deliverHandler({ ...deliveries.deps, messages: deliveries.messages, log: silent });
    const handle = async () => {
      const message = await deliveries.receive();
      if (message === undefined) return undefined;
      const attributes = { ApproximateReceiveCount: message.Attributes?.ApproximateReceiveCount };
      const { MessageId, ReceiptHandle, Body } = message;
      const record = {
        messageId: MessageId,
        receiptHandle: ReceiptHandle,
        body: Body,
        attributes,
      } as unknown as SQSRecord;
      return (await handler({ Records: [record] }, {} as Context)).batchItemFailures.length;
    };
    expect(await handle()).toBe(1);
    await expect.poll(handle, { timeout: 10_000 }).toBe(0);
    expect(await deliveryOf(deliveries, ended)).toMatchObject({ status: 'delivered', attempts: 2 });
  });
});

describe('a crash', () => {
  const calls = ['the read', 'the post', 'the write'];

  test.each(
    calls.flatMap((what, index) => [[index + 1, 'before', what] as const, [index + 1, 'after', what] as const]),
  )('at call %i, %s %s: another message still ends it delivered, under the same id', async (at, when, _what) => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    const { wrap } = dying(at, when);
    const { records, webhooks, ...rest } = deliveries.deps;
    const crashed = deliver({ ...rest, records: wrap(records), webhooks: wrap(webhooks) }, ended);
    await expect(crashed).rejects.toThrow(Crashed);
    await deliver(deliveries.deps, ended);
    expect(await deliveryOf(deliveries, ended)).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(await deliveries.isOpen(ended)).toBe(false);
    expect([1, 2]).toContain(receiver.calls.length);
    expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([ended.id]));
  });

  test('can come at no other call', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const { wrap, calls: made } = dying(Number.POSITIVE_INFINITY, 'before');
    const { records, webhooks, ...rest } = deliveries.deps;
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    await deliver({ ...rest, records: wrap(records), webhooks: wrap(webhooks) }, ended);
    expect(made()).toBe(calls.length);
  });
});
