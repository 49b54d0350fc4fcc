import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { Webhook } from 'standardwebhooks';
import { describe, expect, inject, test } from 'vitest';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { mostDeliveryTries } from '../../lib/domain/delivery-schedule.ts';
import { webhookSecret } from '../../lib/domain/signing-keys.ts';
import { taskView } from '../../lib/domain/task-view.ts';
import { hour, second } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { deliver } from '../../lib/operations/deliver.ts';
import { awsClient } from '../support/aws-client.ts';
import { answering, deliveryOf, drainDeliveries, master, openDeliveries } from '../support/deliveries.ts';
import { drain, openSystem, post } from '../support/deps.ts';
import { newTaskId } from '../support/gate.ts';
import { openReceiver } from '../support/receiver.ts';

describe('one end', () => {
  test.each(['succeeded', 'failed', 'cancelled', 'expired'] as const)(
    '%s: is told once, signed so that the receiver’s library verifies it, and shows the task as a read does',
    async (status) => {
      const receiver = await answering(200);
      const deliveries = await openDeliveries([receiver.origin]);
      const ended = await deliveries.end(`${receiver.origin}/hook`, status);
      await deliveries.messages.announce(ended, 'g');
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

  test('leaves the open tasks with its delivery, but a cancelled one, whose slots may still be held, is due as it was', async () => {
    const receiver = await answering(200);
    const deliveries = await openDeliveries([receiver.origin]);
    const [ended, cancelled] = [
      await deliveries.end(receiver.origin, 'succeeded'),
      await deliveries.end(receiver.origin, 'cancelled'),
    ];
    expect([await deliveries.isOpen(ended), await deliveries.isOpen(cancelled)]).toEqual([true, true]);
    for (const key of [ended, cancelled]) await deliver(deliveries.deps, key);
    expect([await deliveries.isOpen(ended), await deliveries.isOpen(cancelled)]).toEqual([false, true]);
    expect((await deliveries.deps.records.read(cancelled))?.dueAt).toBe(cancelled.dueAt);
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
    // A tenth less or more.
    expect(Math.abs((waits[0] ?? 0) - 5_000)).toBeLessThanOrEqual(550);
    expect(Math.abs((waits[1] ?? 0) - 30_000)).toBeLessThanOrEqual(3_050);
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
