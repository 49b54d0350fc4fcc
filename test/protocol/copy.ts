import type { World } from './world.ts';

/** A copy that shares nothing that changes. */
export function copyWorld(world: World): World {
  const { dynamo, redis, ghost } = world;
  return {
    ...world,
    dynamo: {
      tasks: new Map(dynamo.tasks),
      dedup: new Map(dynamo.dedup),
      tokens: new Set(dynamo.tokens),
      settings: dynamo.settings,
      index: new Map(dynamo.index),
      unindexed: new Map(dynamo.unindexed),
    },
    redis: {
      ...redis,
      seats: new Map(redis.seats),
      slots: new Map(redis.slots),
      holders: new Map(redis.holders),
      locks: new Map(redis.locks),
    },
    queue: [...world.queue],
    dead: [...world.dead],
    actors: world.actors.map((actor) => ({ ...actor, log: [...actor.log] })),
    late: [...world.late],
    made: new Map(world.made),
    ghost: {
      handlers: new Map(ghost.handlers),
      unseated: new Set(ghost.unseated),
      started: new Map(ghost.started),
      inForce: ghost.inForce,
      answers: new Map(ghost.answers),
    },
  };
}
