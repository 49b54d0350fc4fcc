import {
  CreateQueueCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

const seconds = z.coerce.number().int().min(0);
const queueSchema = z.object({
  VisibilityTimeout: seconds.default(30),
  DelaySeconds: seconds.default(0),
  MessageRetentionPeriod: seconds.default(345_600),
  ReceiveMessageWaitTimeSeconds: seconds.default(0),
  MaximumMessageSize: z.coerce.number().int().default(1_048_576),
  RedrivePolicy: z
    .object({ deadLetterTargetArn: z.string(), maxReceiveCount: z.coerce.number().int().min(1) })
    .optional(),
  FifoQueue: z.boolean().optional(),
  ContentBasedDeduplication: z.boolean().optional(),
});

export type Queue = { logicalId: string; name: string; arn: string; url: string };

/** Creates the template's queues, or gives kept ones the attributes they have in the template now. */
export async function createQueues(template: Template, scope: StackScope, client: SQSClient): Promise<Queue[]> {
  const queues = resourcesOfType(template, 'AWS::SQS::Queue').map(({ logicalId }) => ({
    logicalId,
    name: scope.nameOf(logicalId),
    arn: scope.arnOf(logicalId),
    url: scope.resolveText({ Ref: logicalId }),
    properties: parseProperties(logicalId, queueSchema, scope.properties(logicalId)),
  }));
  await Promise.all(
    queues.map(async ({ name, url, properties }) => {
      if (!(await exists(client, name))) {
        const fifo = {
          FifoQueue: 'true',
          ContentBasedDeduplication: String(properties.ContentBasedDeduplication ?? false),
        };
        await client.send(new CreateQueueCommand({ QueueName: name, Attributes: properties.FifoQueue ? fifo : {} }));
      }
      await client.send(
        new SetQueueAttributesCommand({
          QueueUrl: url,
          Attributes: {
            VisibilityTimeout: String(properties.VisibilityTimeout),
            DelaySeconds: String(properties.DelaySeconds),
            MessageRetentionPeriod: String(properties.MessageRetentionPeriod),
            ReceiveMessageWaitTimeSeconds: String(properties.ReceiveMessageWaitTimeSeconds),
            MaximumMessageSize: String(properties.MaximumMessageSize),
            RedrivePolicy: properties.RedrivePolicy === undefined ? '' : JSON.stringify(properties.RedrivePolicy),
          },
        }),
      );
    }),
  );
  return queues.map(({ logicalId, name, arn, url }) => ({ logicalId, name, arn, url }));
}

async function exists(client: SQSClient, name: string): Promise<boolean> {
  try {
    await client.send(new GetQueueUrlCommand({ QueueName: name }));
    return true;
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return false;
    throw error;
  }
}
