import type { Random } from '../protocol/random.ts';
import type { Clients } from './client.ts';

/** One way a client behaves, from its first post to when it goes away. */
export type Behaviour = {
  readonly name: string;
  /** How often, against the others. */
  readonly weight: number;
  run(clients: Clients, dice: Random): Promise<void>;
};

/** What the load is made of: a new kind of client is one more entry. */
export const behaviours: readonly Behaviour[] = [
  {
    name: 'posts and waits for the end',
    weight: 6,
    async run(clients, dice) {
      const id = await clients.post(clients.newAsk(dice));
      if (id !== undefined) await clients.end(id);
    },
  },
  {
    name: 'posts the same twice at once',
    weight: 2,
    async run(clients, dice) {
      const ask = clients.newAsk(dice);
      const ids = await Promise.all([clients.post(ask), clients.post(ask)]);
      await Promise.all(ids.map((id) => (id === undefined ? undefined : clients.end(id))));
    },
  },
  {
    name: 'posts the same again while it runs, and after its end',
    weight: 1,
    async run(clients, dice) {
      const ask = clients.newAsk(dice);
      const id = await clients.post(ask);
      await clients.pause(dice.next() * 500);
      await clients.post(ask);
      if (id === undefined) return;
      await clients.end(id);
      await clients.post(ask);
    },
  },
  {
    name: 'names its request by a key',
    weight: 1,
    async run(clients, dice) {
      const ask = clients.newAsk(dice);
      const id = await clients.post(ask, { 'idempotency-key': ask.tag });
      if (id !== undefined) await clients.end(id);
    },
  },
  {
    name: 'cancels, and asks for the same again',
    weight: 1,
    async run(clients, dice) {
      const ask = clients.newAsk(dice);
      const id = await clients.post(ask);
      if (id === undefined) return;
      await clients.pause(dice.next() ** 2 * 2_000);
      await clients.cancel(id);
      const again = await clients.post(ask);
      if (again !== undefined) await clients.end(again);
    },
  },
];

/** Keeps `count` clients busy until `stop`, each with one behaviour after another. Resolves when the last one has gone away. */
export async function runLoad(clients: Clients, count: number, dice: Random, stop: AbortSignal): Promise<void> {
  const wheel = behaviours.flatMap((behaviour) => Array<Behaviour>(behaviour.weight).fill(behaviour));
  const loops = Array.from({ length: count }, async () => {
    while (!stop.aborted) await dice.pick(wheel).run(clients, dice);
  });
  await Promise.all(loops);
}
