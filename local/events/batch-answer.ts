/**
 * Which messages of a batch failed, read from a function's answer by the vendor's rules for ReportBatchItemFailures:
 *
 * - nothing, `{}`, `{ batchItemFailures: null }` or an empty list: all succeeded
 * - identifiers of messages in the batch: these failed, the others succeeded
 * - an identifier that is empty, missing or not in the batch: all failed
 * - anything of another shape, such as `{ statusCode: 500 }`: all succeeded
 */
export function failedItems(answerJson: string, messageIds: string[]): Set<string> {
  const answer: unknown = JSON.parse(answerJson);
  if (typeof answer !== 'object' || answer === null || !('batchItemFailures' in answer)) return new Set();
  const { batchItemFailures: items } = answer;
  if (!Array.isArray(items)) return new Set();
  const failed = new Set<string>();
  for (const item of items) {
    const id = typeof item === 'object' && item !== null && 'itemIdentifier' in item ? item.itemIdentifier : undefined;
    if (typeof id !== 'string' || !messageIds.includes(id)) return new Set(messageIds);
    failed.add(id);
  }
  return failed;
}
