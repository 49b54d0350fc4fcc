import type { Call, Reply } from './proxy/call.ts';

/** A place in the talk of a function with its services: just before a request is forwarded, or when its reply is about to be passed on. */
export type Place = {
  readonly by: 'work' | 'admit' | 'reconcile';
  readonly when: 'before' | 'after';
  readonly call: string;
  /** The reply it must be; absent: any. Only with `after`. */
  readonly reply?: string;
};

/** `rare`: struck a third as often as the others. */
export type Point = { readonly name: string; readonly places: readonly Place[]; readonly rare?: true };

/** Where a process or a service is struck. A point that lies between two requests is the end of the first or the beginning of the second. */
export const points: readonly Point[] = [
  {
    name: 'after receive',
    places: [
      { by: 'work', when: 'before', call: 'receive' },
      { by: 'work', when: 'after', call: 'receive' },
    ],
  },
  {
    name: 'after acquire',
    places: [
      { by: 'work', when: 'after', call: 'acquire', reply: 'acquired' },
      { by: 'work', when: 'before', call: 'start' },
    ],
  },
  {
    name: 'after start',
    places: [
      { by: 'work', when: 'after', call: 'start', reply: 'ok' },
      { by: 'work', when: 'after', call: 'extend', reply: 'extended' },
    ],
  },
  { name: 'after the effect', places: [{ by: 'work', when: 'after', call: 'progress', reply: 'ok' }] },
  { name: 'before finish', places: [{ by: 'work', when: 'before', call: 'finish' }] },
  {
    name: 'before release',
    places: [
      { by: 'work', when: 'after', call: 'finish', reply: 'ok' },
      { by: 'work', when: 'before', call: 'release' },
    ],
  },
  {
    name: 'between lock and record',
    places: [
      { by: 'admit', when: 'after', call: 'admit', reply: 'admitted' },
      { by: 'admit', when: 'before', call: 'create' },
    ],
  },
  {
    name: 'between record and send',
    places: [
      { by: 'admit', when: 'after', call: 'create', reply: 'ok' },
      { by: 'admit', when: 'before', call: 'send' },
    ],
  },
  {
    name: 'after send before reply',
    places: [
      { by: 'admit', when: 'after', call: 'send', reply: 'ok' },
      { by: 'admit', when: 'before', call: 'markSent' },
      { by: 'admit', when: 'after', call: 'markSent' },
    ],
  },
  {
    name: 'while a retry is written',
    rare: true,
    places: [
      { by: 'work', when: 'before', call: 'requeue' },
      { by: 'work', when: 'after', call: 'requeue', reply: 'ok' },
    ],
  },
  {
    // A run that dies keeps the next ones away for ten seconds: too often, and nothing is mended at all.
    name: 'while reconcile mends',
    rare: true,
    places: [
      { by: 'reconcile', when: 'before', call: 'requeue' },
      { by: 'reconcile', when: 'after', call: 'requeue', reply: 'ok' },
      { by: 'reconcile', when: 'after', call: 'countSend', reply: 'ok' },
      { by: 'reconcile', when: 'after', call: 'send', reply: 'ok' },
    ],
  },
];

/** Is this request, or this reply to it, of the place? Who sent it is not looked at. */
export function isAt(place: Place, call: Call, reply: Reply | undefined): boolean {
  if (place.call !== call.name || (place.when === 'after') !== (reply !== undefined)) return false;
  return place.reply === undefined || place.reply === reply?.kind;
}
