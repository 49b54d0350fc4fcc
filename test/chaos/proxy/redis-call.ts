import { createHash } from 'node:crypto';
import { type Call, isNonce, type Reply, taskIdIn } from './call.ts';
import type { RespValue } from './resp.ts';

/** What a script is called that is none of those known. */
export const unknownScript = 'unknown script';

/** Reads commands; `scripts` are the texts of those that may be called, by name. */
export function redisCalls(scripts: Readonly<Record<string, string>>): {
  readCall(command: RespValue): Call;
  readReply(value: RespValue): Reply;
} {
  const names = new Map(Object.entries(scripts).map(([name, text]) => [sha1(text), name]));
  const scriptOf = (command: string, first: string) =>
    names.get(command === 'evalsha' ? first : sha1(first)) ?? unknownScript;
  return {
    readCall(value) {
      const [word = '', first = '', ...rest] = Array.isArray(value) ? value.map(String) : [];
      const command = word.toLowerCase();
      const isScript = command === 'evalsha' || command === 'eval';
      const member = rest.find((argument) => argument.includes('|') && taskIdIn(argument) !== undefined);
      return {
        service: 'redis',
        name: isScript
          ? scriptOf(command, first)
          : `${command} ${command === 'cluster' ? first.toLowerCase() : ''}`.trim(),
        taskId: isScript
          ? taskIdIn(member ?? rest.find((argument) => taskIdIn(argument) !== undefined) ?? '')
          : undefined,
        nonce: isScript ? rest.find(isNonce) : undefined,
      };
    },
    readReply(value) {
      const [first, ...rest] = Array.isArray(value) ? value : [value];
      const numbers = rest.filter((each) => typeof each === 'number');
      const kind = first instanceof Error ? (first.message.split(' ')[0] ?? 'error') : String(first).slice(0, 40);
      return { kind, numbers };
    },
  };
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
