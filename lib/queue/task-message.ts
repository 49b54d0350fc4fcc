import * as z from 'zod';
import { toTaskId } from '../domain/task-id.ts';
import type { TaskKey, TaskMessage } from '../ports.ts';

const key = z.object({ v: z.literal(1), tenant: z.string().min(1), id: z.string().transform(toTaskId) });
const task = key.extend({ send: z.int().min(1) });

/** A message of a work queue; undefined where its body cannot be read. */
export function readTaskMessage(text: string): TaskMessage | undefined {
  return read(task, text);
}

/** A message of the queue of deliveries: the end of this task is to be told. */
export function readEndMessage(text: string): TaskKey | undefined {
  return read(key, text);
}

function read<Message>(body: z.ZodType<Message>, text: string): Message | undefined {
  try {
    return body.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
