import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { TaskRecord } from '../../domain/task-record.ts';
import type { TaskKey, Written } from '../../ports.ts';
import { taskKey, toRecord } from './item.ts';

/**
 * One conditional write to a task item: every field of `when` must hold (a list: one of these; true: is there), then `set`, `add` and
 * `remove` happen together.
 */
export type Transition = {
  readonly when: Readonly<Record<string, string | number | true | object>>;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly add?: Readonly<Record<string, number>>;
  readonly remove?: readonly string[];
  /** Was it this very write that made the record so? Asked when the condition fails, because a repeat after a lost reply finds its own work. */
  isOwn?(record: TaskRecord): boolean;
};

/** Refused carries the record that stood in the way, read in the same call. */
export async function transition(
  client: DynamoDBClient,
  table: string,
  key: TaskKey,
  { when, set = {}, add = {}, remove = [], isOwn }: Transition,
): Promise<Written> {
  const names = [...new Set([...Object.keys(when), ...Object.keys(set), ...Object.keys(add), ...remove])];
  const conditions = Object.entries(when).map(([name, value]) => conditionOf(name, value));
  const values = [...conditions.flatMap((each) => each.values), ...prefixed('set', set), ...prefixed('add', add)];
  const clauses = [
    list('SET', [
      ...Object.keys(set).map((name) => `#${name} = :set_${name}`),
      ...Object.keys(add).map((name) => `#${name} = #${name} + :add_${name}`),
    ]),
    list(
      'REMOVE',
      remove.map((name) => `#${name}`),
    ),
  ];
  try {
    const { Attributes } = await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: marshall({ pk: taskKey(key) }),
        ConditionExpression: conditions.map(({ text }) => text).join(' AND '),
        UpdateExpression: clauses.filter(Boolean).join(' '),
        ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
        ExpressionAttributeValues: marshall(Object.fromEntries(values), { removeUndefinedValues: true }),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    return { kind: 'written', record: toRecord(Attributes ?? {}) };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const record = error.Item === undefined ? undefined : toRecord(error.Item);
    return record !== undefined && isOwn?.(record) ? { kind: 'written', record } : { kind: 'refused', record };
  }
}

function conditionOf(name: string, value: Transition['when'][string]): { text: string; values: [string, unknown][] } {
  if (value === true) return { text: `attribute_exists(#${name})`, values: [] };
  if (!Array.isArray(value)) return { text: `#${name} = :when_${name}`, values: [[`:when_${name}`, value]] };
  const values = value.map((one: unknown, index): [string, unknown] => [`:when_${name}_${index}`, one]);
  return { text: `#${name} IN (${values.map(([placeholder]) => placeholder).join(', ')})`, values };
}

function prefixed(role: string, fields: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(fields).map(([name, value]) => [`:${role}_${name}`, value]);
}

function list(verb: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `${verb} ${parts.join(', ')}`;
}
