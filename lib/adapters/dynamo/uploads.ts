import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { addMs, day } from '../../domain/time.ts';
import type { Declared, Upload, UploadKey } from '../../domain/upload.ts';
import type { Uploads } from '../../ports.ts';
import { bounded } from '../outage.ts';
import { moment, ttl } from './item.ts';
import { getItem } from './one-item.ts';

/** An upload's item stays for a day after its end, to say that it has expired. */
const epitaphMs = day;

const upload = z.object({
  tenant: z.string(),
  id: z.string(),
  key: z.string(),
  sha256: z.string(),
  size: z.int(),
  mediaType: z.string(),
  createdAt: moment,
  urlExpiresAt: moment,
  expiresAt: moment,
  keptUntil: moment.optional(),
});
const content = z.object({ id: z.string(), key: z.string(), keptUntil: moment.optional() });

/** DynamoDB behind the `Uploads` port: an item per upload, and one per tenant, hash and size that says where those bytes are. */
export function dynamoUploads(client: DynamoDBClient, table: string): Uploads {
  const put = (whole: Record<string, unknown>) =>
    client.send(new PutItemCommand({ TableName: table, Item: marshall(whole, { removeUndefinedValues: true }) }));

  return bounded('dynamodb', {
    async create(made: Upload) {
      await put({ pk: uploadKey(made), ...made, ttl: ttl(addMs(made.expiresAt, epitaphMs)) });
    },
    async read(key: UploadKey) {
      const stored = await getItem(client, table, uploadKey(key));
      return stored && upload.parse(unmarshall(stored));
    },
    async keep(key, { now, keptUntil }) {
      try {
        await client.send(
          new UpdateItemCommand({
            TableName: table,
            Key: marshall({ pk: uploadKey(key) }),
            ConditionExpression: 'attribute_exists(pk) AND expiresAt > :now',
            UpdateExpression: 'SET keptUntil = :until',
            ExpressionAttributeValues: marshall({ ':now': now, ':until': keptUntil }),
          }),
        );
        return { kind: 'kept' };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return { kind: 'gone' };
        throw error;
      }
    },
    async remove(key) {
      const input = { TableName: table, Key: marshall({ pk: uploadKey(key) }), ReturnValues: 'ALL_OLD' as const };
      const { Attributes } = await client.send(new DeleteItemCommand(input));
      return Attributes && upload.parse(unmarshall(Attributes));
    },
    async readContent(tenant, declared) {
      const stored = await getItem(client, table, contentKey(tenant, declared));
      return stored && content.parse(unmarshall(stored));
    },
    async writeContent(tenant, declared, { id, key, keptUntil }, expiresAt) {
      await put({ pk: contentKey(tenant, declared), id, key, keptUntil, expiresAt, ttl: ttl(expiresAt) });
    },
  } satisfies Uploads);
}

function uploadKey({ tenant, id }: UploadKey): string {
  return `F#${tenant}#${id}`;
}

/** No id of an upload has a `:`. */
function contentKey(tenant: string, { sha256, size }: Pick<Declared, 'sha256' | 'size'>): string {
  return `F#${tenant}#sha256:${sha256}:${size}`;
}
