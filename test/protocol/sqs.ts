import type { Action } from './actor.ts';
import { times } from './times.ts';
import { type Message, violate, type World } from './world.ts';

/** One action per SQS call. Receiving is a move (moves.ts), since it begins a worker. */
function op<Args, R>(name: string, apply: (world: World, args: Args) => R): Action<Args, R> {
  return { service: 'sqs', name, apply };
}

function update(world: World, name: string, changes: Partial<Message>): void {
  world.queue = world.queue.map((message) => (message.name === name ? { ...message, ...changes } : message));
}

/** "send {v, tenant, id, send number}" */
export const send = op('send', (world, { task, number }: { task: string; number: number }) => {
  const name = `${task}/${number}`;
  const copies = world.queue.filter((message) => message.task === task && message.send === number).length;
  const unique = copies === 0 ? name : `${name}~${world.now}.${copies}`;
  world.queue = [...world.queue, { name: unique, task, send: number, receives: 0, visibleAt: world.now, deferred: 0 }];
  return { kind: 'sent' as const };
});

export const hide = op(
  'hide',
  (world, { name, seconds, deferred = 0 }: { name: string; seconds: number; deferred?: number }) => {
    update(world, name, { visibleAt: world.now + seconds, deferred });
    return { kind: 'hidden' as const };
  },
);

export const remove = op('ack', (world, { name }: { name: string }) => {
  world.queue = world.queue.filter((message) => message.name !== name);
  return { kind: 'acked' as const };
});

export const removeDead = op('ackDead', (world, { name }: { name: string }) => {
  world.dead = world.dead.filter((message) => message.name !== name);
  return { kind: 'acked' as const };
});

/** Delivers to one consumer; past the permitted receives the message goes to the dead-letter queue instead. */
export function receive(world: World, message: Message, mostReceives: number, twice: boolean): Message | undefined {
  if (message.receives >= mostReceives) {
    if (message.deferred === message.receives)
      violate(world, 'T', `${message.name} was deferred into the dead-letter queue`);
    world.queue = world.queue.filter(({ name }) => name !== message.name);
    world.dead = [...world.dead, message];
    return undefined;
  }
  const received = {
    ...message,
    receives: message.receives + 1,
    deferred: 0,
    visibleAt: twice ? world.now : world.now + times.visibility,
  };
  update(world, message.name, received);
  return received;
}
