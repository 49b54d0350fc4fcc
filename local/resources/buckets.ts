import { CreateBucketCommand, ListBucketsCommand, type S3Client } from '@aws-sdk/client-s3';
import type { StackScope } from '../template/scope.ts';
import { resourcesOfType, type Template } from '../template/template.ts';

/** Creates the template's buckets that are not there yet; returns their names. */
export async function createBuckets(template: Template, scope: StackScope, client: S3Client): Promise<string[]> {
  const names = resourcesOfType(template, 'AWS::S3::Bucket').map(({ logicalId }) => scope.nameOf(logicalId));
  const { Buckets: kept = [] } = await client.send(new ListBucketsCommand({}));
  const missing = names.filter((name) => !kept.some((bucket) => bucket.Name === name));
  await Promise.all(missing.map((name) => client.send(new CreateBucketCommand({ Bucket: name }))));
  return names;
}
