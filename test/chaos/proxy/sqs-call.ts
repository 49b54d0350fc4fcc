import { type Call, type Reply, taskIdIn } from './call.ts';

const mostHandles = 50_000;

/**
 * Reads requests to SQS. A worker's first act on a message is to set its visibility: the first such call with a receipt handle
 * is `receive`, later ones are `setVisibility`.
 */
export function sqsCalls(): { readCall(target: string, text: string): Call; readReply(status: number): Reply } {
  const handles = new Set<string>();
  const isFirst = (handle: string) => {
    if (handles.has(handle)) return false;
    if (handles.size >= mostHandles) handles.clear();
    handles.add(handle);
    return true;
  };
  return {
    readCall(target, text) {
      const operation = target.split('.').at(-1) ?? '';
      const call = { service: 'sqs', taskId: taskIdIn(text), nonce: undefined } as const;
      if (operation === 'SendMessage') return { ...call, name: call.taskId === undefined ? 'wake' : 'send' };
      if (operation !== 'ChangeMessageVisibility') return { ...call, name: operation };
      const handle = /"ReceiptHandle":"([^"]*)"/.exec(text)?.[1] ?? '';
      return { ...call, name: isFirst(handle) ? 'receive' : 'setVisibility' };
    },
    readReply: (status) => ({ kind: status < 300 ? 'ok' : `HTTP ${status}` }),
  };
}
