import type { Socket } from 'node:net';
import type { Connection, Owner } from './call.ts';

/** Finds the function's process at the other end of a connection that was accepted at `openSince` (`performance.now()`). */
export type FindOwner = (socket: Socket, openSince: number) => Owner | undefined;

/** To be made when the connection is accepted. Its owner is looked for when somebody asks, and once it is found not again. */
export function connectionOf(socket: Socket, find: FindOwner): Connection {
  const openSince = performance.now();
  let owner: Owner | undefined;
  return {
    owner() {
      owner ??= find(socket, openSince);
      return owner;
    },
  };
}
