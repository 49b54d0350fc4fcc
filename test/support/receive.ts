import { type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** One message as a worker's event source takes it, or none after a second without one. */
export async function receiveOne(sqs: SQSClient, QueueUrl: string): Promise<Message | undefined> {
  const { Messages } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      WaitTimeSeconds: 1,
      VisibilityTimeout: 30,
      MessageSystemAttributeNames: ['ApproximateReceiveCount'],
    }),
  );
  return Messages?.[0];
}
