import { type Call, type Reply, type Standing, taskIdIn } from './call.ts';

type Attribute = { S?: string; N?: string };
type Attributes = Record<string, Attribute | undefined>;
type Body = {
  Key?: Attributes;
  ExpressionAttributeValues?: Attributes;
  ConditionExpression?: string;
  TransactItems?: { Put?: { Item?: Attributes } }[];
};

/** What each write of a status is called; by whom it is written tells the rest. */
const writesOfStatus: Readonly<Record<string, string>> = {
  running: 'start',
  succeeded: 'finish',
  failed: 'finish',
  queued: 'requeue',
};

/** Reads a request from its `X-Amz-Target` and its body. */
export function readDynamoDbCall(target: string, text: string): Call {
  const operation = target.split('.').at(-1) ?? '';
  const body = parse<Body>(text);
  const [task, dedup] = body.TransactItems?.map(({ Put }) => Put?.Item) ?? [];
  const values = body.ExpressionAttributeValues ?? {};
  return {
    service: 'dynamodb',
    name: operation === 'UpdateItem' ? updateName(values, body.ConditionExpression ?? '') : nameOf(operation, task),
    taskId: taskIdIn(task?.pk?.S ?? body.Key?.pk?.S ?? ''),
    nonce: values[':when_holder']?.S ?? values[':set_holder']?.S,
    dedupKey: dedup?.pk?.S,
  };
}

function nameOf(operation: string, created: Attributes | undefined): string {
  if (operation === 'TransactWriteItems') return created?.pk?.S?.startsWith('T#') ? 'create' : 'settings';
  return { GetItem: 'read', Query: 'query', PutItem: 'settings' }[operation] ?? operation;
}

/** A write to a task item is known by what it sets, or else by what it asks. */
function updateName(values: Attributes, condition: string): string {
  const status = values[':set_status']?.S;
  if (status !== undefined) return writesOfStatus[status] ?? status;
  if (values[':set_progress'] !== undefined) return 'progress';
  if (values[':set_delivery'] !== undefined) return 'deliver';
  if (values[':add_sends'] !== undefined) return 'countSend';
  if (values[':add_burials'] !== undefined) return 'bury';
  if (values[':set_dueAt'] === undefined) return condition.includes('#openShard') ? 'close' : 'another update';
  if (condition.includes('#openShard')) return 'lookAgain';
  if (values[':when_sends'] !== undefined) return 'markSent';
  return { running: 'postpone', queued: 'setDue' }[values[':when_status']?.S ?? ''] ?? 'another update';
}

/** Reads a reply; a write that was refused comes with the record that stood in its way. */
export function readDynamoDbReply(status: number, text: string): Reply {
  const body = parse<{ __type?: string; Attributes?: Attributes; Item?: Attributes }>(text);
  if (status === 200) return { kind: 'ok', standing: standingOf(body.Attributes ?? body.Item) };
  const error = body.__type?.split('#').at(-1) ?? `HTTP ${status}`;
  if (error === 'ConditionalCheckFailedException') return { kind: 'refused', standing: standingOf(body.Item) };
  if (error === 'TransactionCanceledException' && text.includes('ConditionalCheckFailed')) return { kind: 'refused' };
  return { kind: error };
}

function standingOf(item: Attributes | undefined): Standing | undefined {
  if (item?.status?.S === undefined) return undefined;
  return { status: item.status.S, attempt: Number(item.attempt?.N), revision: Number(item.revision?.N) };
}

function parse<T extends object>(text: string): Partial<T> {
  try {
    return JSON.parse(text) as T;
  } catch {
    return {};
  }
}
