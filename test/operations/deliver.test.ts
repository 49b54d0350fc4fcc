import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSRecord } from 'aws-lambda';
import { Webhook } from 'standardwebhooks';
import { describe, expect, inject, test } from 'vitest';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { mostDeliveryTries } from '../../lib/domain/delivery-schedule.ts';
import { skewMs } from '../../lib/domain/protocol.ts';
import { webhookSecret } from '../../lib/domain/signing-keys.ts';
import { taskView } from '../../lib/domain/task-view.ts';
import { addMs, hour, minute, second } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { deliver } from '../../lib/operations/deliver.ts';
import { deliverHandler } from '../../lib/queue/deliver-handler.ts';
import { Crashed, dying } from '../support/crash.ts';
import { type Deliveries, drainDeliveries, master, openDeliveries } from '../support/deliveries.ts';
import { drain, openSystem, post } from '../support/deps.ts';
import { newTaskId, silent } from '../support/gate.ts';
import { openReceiver } from '../support/receiver.ts';
import { awsClient } from '../support/records.ts';

/** Answers with each status in turn, and with the last from then on. */
function answering(...statuses: number[]) {
  let calls = 0;
  return openReceiver((_, response) => {
    const status = statuses[Math.min(calls++, statuses.length - 1)] ?? 500;
    response.writeHead(status, status === 429 ? { 'retry-after': '120' } : {}).end('whatever the receiver writes');
  });
}

async function deliveryOf({ deps }: Deliveries, key: Parameters<typeof deliver>[1]) {
  return (await deps.records.read(key))?.delivery;
}

describe('one end', () => {
  test.each(['succeeded', 'failed', 'cancelled', 'expired'] as const)(
    '%s: is told once, signed so that the receiver’s library verifies it, and shows the task as a read does',
    async (status) => {
      const receiver = await answering(200);
      const deliveries = await openDeliveries([receiver.origin]);
      const ended = await deliveries.end(`${receiver.origin}/hook`, status);
      await deliveries.messages.announce(ended);
      expect(await drainDeliveries(deliveries)).toEqual([{ kind: 'ack', because: 'delivered' }]);
      expect(receiver.calls).toHaveLength(1);
      const { headers, body, path } = receiver.calls[0] as (typeof receiver.calls)[number];
      const told = new Webhook(webhookSecret(master, 't')).verify(body, headers as Record<string, string>);
      expect({ path, id: headers['webhook-id'] }).toEqual({ path: '/hook', id: ended.id });
      expect(told).toEqual({
        type: `task.${status}`,
        timestamp: new Date(ended.finishedAt ?? 0).toISOString(),
        data: JSON.parse(JSON.stringify(taskView({ ...ended, delivery: undefined }, deliveries.deps.baseUrl))),
      });
      const record = await deliveries.deps.records.read(ended);
      expect(record).toMatchObject({ status, delivery: { status: 'delivered', attempts: 1 } });
      expect(record?.revision).toBe(ended.revision + 1);
      expect(deliveries.counted).toEqual(['deliveries_total 1 delivered']);
    },
  );

  test('leaves the open tasks with its delivery, but a cancelled one, whose slots may still be held, is due', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const [ended, cancelled] = [
      await deliveries.end(receiver.origin, 'succeeded'),
      await deliveries.end(receiver.origin, 'cancelled'),
    ];
    expect([await deliveries.isOpen(ended), await deliveries.isOpen(cancelled)]).toEqual([true, true]);
    for (const key of [ended, cancelled]) await deliver(deliveries.deps, key);
    expect([await deliveries.isOpen(ended), await deliveries.isOpen(cancelled)]).toEqual([false, true]);
    expect((await deliveries.deps.records.read(cancelled))?.dueAt).toBeLessThanOrEqual(Date.now());
  });

  test('is told of the task that a post asked it for; one that joins it keeps the first one’s callback', async () => {
    const receiver = await answering(200);
    const system = await openSystem();
    const deliveries = await openDeliveries([receiver.origin]);
    const sqs = new SQSClient(awsClient(inject('ports').sqsS3));
    const { QueueUrl: deliverUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `q-${newTaskId()}` }));
    const messages = sqsMessages(sqs, { p: system.queue.url }, { deliverUrl });
    const deps = { ...system.deps, messages: { ...messages, announce: deliveries.messages.announce } };
    const callbackUrl = `${receiver.origin}/first`;
    const first = await admit(deps, post(system, {}, { options: { callbackUrl } }));
    const joined = await admit(deps, post(system, {}, { options: { callbackUrl: `${receiver.origin}/second` } }));
    expect([first.kind, joined.kind]).toEqual(['admitted', 'joined']);
    await drain({ ...system, deps });
    const key = { tenant: 't', id: first.kind === 'admitted' ? first.record.id : newTaskId() };
    const record = await system.deps.records.read(key);
    expect(record).toMatchObject({ status: 'succeeded', callbackUrl, delivery: { status: 'pending', attempts: 0 } });
    await drainDeliveries(deliveries, { ...deliveries.deps, records: system.deps.records });
    expect(receiver.calls.map(({ path }) => path)).toEqual(['/first']);
    expect((await system.deps.records.read(key))?.delivery?.status).toBe('delivered');
  });

  test('without a callback, still open, or unknown: there is nothing to tell', async () => {
    const receiver = await answering(200);
    const system = await openSystem();
    const deliveries = await openDeliveries([receiver.origin]);
    const deps = { ...deliveries.deps, records: system.deps.records };
    const nothing = { kind: 'ack', because: 'nothing to deliver' };
    const open = await admit(system.deps, post(system, { a: 1 }, { options: { callbackUrl: receiver.origin } }));
    const plain = await admit(system.deps, post(system, { a: 2 }));
    for (const admission of [open, plain])
      expect(await deliver(deps, admission.kind === 'admitted' ? admission.record : (undefined as never))).toEqual(
        nothing,
      );
    await drain(system);
    expect(await deliver(deps, plain.kind === 'admitted' ? plain.record : (undefined as never))).toEqual(nothing);
    expect(await deliver(deps, { tenant: 't', id: newTaskId() })).toEqual(nothing);
    expect(receiver.calls).toEqual([]);
  });
});

describe('a receiver that is not ready', () => {
  test('answers 500 twice: tried again after 5 and 30 s, under the same id with the same body, until it accepts', async () => {
    const receiver = await answering(500, 503, 200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    const waits: number[] = [];
    for (const problem of ['answered 500', 'answered 503']) {
      const outcome = await deliver(deliveries.deps, ended);
      const record = await deliveries.deps.records.read(ended);
      expect(record?.delivery).toMatchObject({ status: 'pending', attempts: waits.length + 1, problem });
      expect(record?.dueAt).toBe((record?.delivery?.nextAt ?? 0) + deliveries.deps.weir.times.resendAgeMs);
      expect(taskView(record as never, 'u').delivery).toMatchObject({
        status: 'pending',
        nextAt: new Date(record?.delivery?.nextAt ?? 0).toISOString(),
        problem,
      });
      const afterMs = outcome.kind === 'defer' ? outcome.afterMs : 0;
      waits.push(afterMs);
      deliveries.pass(afterMs);
    }
    expect(waits.map((ms) => Math.round(ms / 1_000 / 5))).toEqual([1, 6]);
    expect(await deliver(deliveries.deps, ended)).toEqual({ kind: 'ack', because: 'delivered' });
    const delivery = await deliveryOf(deliveries, ended);
    expect(delivery).toEqual({ status: 'delivered', attempts: 3, lastAt: expect.any(Number) });
    expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([ended.id]));
    expect(new Set(receiver.calls.map(({ body }) => body.toString())).size).toBe(1);
    const moments = receiver.calls.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect((moments[2] ?? 0) - (moments[0] ?? 0)).toBeGreaterThanOrEqual(31);
    expect(deliveries.counted).toEqual([
      'deliveries_total 1 again',
      'deliveries_total 1 again',
      'deliveries_total 1 delivered',
    ]);
  });

  test.each([302, 400, 401, 404, 500])('answers %i: pending, in our words', async (status) => {
    const receiver = await answering(status);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'failed');
    await deliver(deliveries.deps, ended);
    const delivery = await deliveryOf(deliveries, ended);
    expect(delivery).toMatchObject({ status: 'pending', problem: `answered ${status}` });
    expect(await deliveries.isOpen(ended)).toBe(true);
  });

  test('asks for more time and gets it', async () => {
    const receiver = await answering(429);
    const deliveries = await openDeliveries([receiver.origin]);
    const outcome = await deliver(deliveries.deps, await deliveries.end(receiver.origin, 'succeeded'));
    expect(outcome.kind === 'defer' && outcome.afterMs).toBeGreaterThan(119 * second);
  });

  test('never answers: the outcome of the task stands, and its delivery stays pending', async () => {
    const receiver = await openReceiver(() => undefined);
    const deliveries = await openDeliveries([receiver.origin], { deadlineMs: 200 });
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    expect(await deliver(deliveries.deps, ended)).toMatchObject({ kind: 'defer' });
    const { delivery, revision, dueAt, ...outcome } = (await deliveries.deps.records.read(ended)) ?? {};
    const { delivery: before, revision: was, dueAt: due, ...asWritten } = ended;
    expect(outcome).toEqual(asWritten);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1, problem: 'no answer in 0.2 s' });
  });

  test('is given up after the ninth try, most of a day later', async () => {
    const receiver = await answering(500);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    const from = deliveries.deps.clock.now();
    for (let tries = 1; tries < mostDeliveryTries; tries++) {
      const outcome = await deliver(deliveries.deps, ended);
      if (outcome.kind !== 'defer') throw new Error(`expected try ${tries} to be made again, got ${outcome.because}`);
      deliveries.pass(outcome.afterMs);
    }
    expect(await deliver(deliveries.deps, ended)).toEqual({ kind: 'ack', because: 'failed' });
    expect(deliveries.deps.clock.now() - from).toBeGreaterThan(15 * hour);
    const delivery = await deliveryOf(deliveries, ended);
    expect(delivery).toMatchObject({ status: 'failed', attempts: 9, problem: 'answered 500' });
    expect(delivery).not.toHaveProperty('nextAt');
    expect(await deliveries.isOpen(ended)).toBe(false);
    expect(await deliver(deliveries.deps, ended)).toEqual({ kind: 'ack', because: 'failed' });
    expect(receiver.calls).toHaveLength(9);
  });
});

describe('a receiver that is not to be asked again', () => {
  test('answers 410', async () => {
    const receiver = await answering(410);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    expect(await deliver(deliveries.deps, ended)).toEqual({ kind: 'ack', because: 'failed' });
    expect(await deliveryOf(deliveries, ended)).toMatchObject({
      status: 'failed',
      attempts: 1,
      problem: 'answered 410',
    });
    expect(await deliveries.isOpen(ended)).toBe(false);
  });

  test('is one that the rules refuse by now: an origin that is no more trusted', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    expect(await deliver(deliveries.deps, ended)).toEqual({ kind: 'ack', because: 'failed' });
    expect(await deliveryOf(deliveries, ended)).toMatchObject({ status: 'failed', problem: 'expected https' });
    expect(receiver.calls).toEqual([]);
  });
});

describe('a message is a hint', () => {
  test('that comes again after the delivery: nothing is posted', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const ended = await deliveries.end(receiver.origin, 'succeeded');
    for (let send = 0; send < 3; send++) await deliveries.messages.announce(ended);
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
    await deliveries.messages.announce(ended);
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
