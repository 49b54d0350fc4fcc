import * as z from 'zod';
import type { Functions } from '../lambda/functions.ts';
import type { FunctionPool } from '../lambda/pool.ts';
import type { Queue } from '../resources/queues.ts';
import { unsupported } from '../stack-error.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

/** One event source mapping of a queue to a function. */
export type QueueMapping = {
  queue: Queue;
  pool: FunctionPool;
  batchSize: number;
  windowMs: number;
  maxConcurrency: number;
  reportsItemFailures: boolean;
};

const defaultConcurrency = 8;

const mappingSchema = z.object({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  Enabled: z.boolean().default(true),
  BatchSize: z.coerce.number().int().min(1).max(10_000).default(10),
  MaximumBatchingWindowInSeconds: z.coerce.number().int().min(0).max(300).default(0),
  ScalingConfig: z.object({ MaximumConcurrency: z.coerce.number().int().min(2).max(1000) }).optional(),
  FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  FilterCriteria: z.undefined('filters are not supported here').optional(),
});

/** Reads the template's event source mappings; only queues are supported. */
export function defineMappings(
  template: Template,
  scope: StackScope,
  queues: Queue[],
  functions: Functions,
): QueueMapping[] {
  return resourcesOfType(template, 'AWS::Lambda::EventSourceMapping').flatMap(({ logicalId }) => {
    const properties = parseProperties(logicalId, mappingSchema, scope.properties(logicalId));
    const queue = queues.find(({ arn }) => arn === properties.EventSourceArn);
    if (queue === undefined)
      throw unsupported(logicalId, `EventSourceArn: ${properties.EventSourceArn} is no queue of this stack`);
    const pool = functions.find(properties.FunctionName);
    if (pool === undefined)
      throw unsupported(logicalId, `FunctionName: ${properties.FunctionName} is not in this stack`);
    if (properties.BatchSize > 10 && properties.MaximumBatchingWindowInSeconds === 0) {
      throw unsupported(logicalId, 'BatchSize: above 10 it needs MaximumBatchingWindowInSeconds');
    }
    if (!properties.Enabled) return [];
    return [
      {
        queue,
        pool,
        batchSize: properties.BatchSize,
        windowMs: properties.MaximumBatchingWindowInSeconds * 1000,
        maxConcurrency: properties.ScalingConfig?.MaximumConcurrency ?? defaultConcurrency,
        reportsItemFailures: properties.FunctionResponseTypes.length > 0,
      },
    ];
  });
}
