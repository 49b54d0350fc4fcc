import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type CfnBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';

const inputs = 'inputs/';
const dayMs = 86_400_000;

type FileVariables = Pick<Variables<'admit'>, 'WEIR_BUCKET'>;

/**
 * The files clients sent. Not versioned: `admit` writes an input once, under a key no client can choose, and an input outlives the record
 * that names it by a day.
 */
export class FileBucket extends Construct {
  private readonly bucket: Bucket;

  constructor(scope: Construct, id: string, keepMs: number) {
    super(scope, id);
    this.bucket = new Bucket(this, 'bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.RETAIN,
      lifecycleRules: [
        { id: 'inputs', prefix: inputs, expiration: Duration.days(Math.ceil(keepMs / dayMs) + 1) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the functions reach the bucket; access logs are for the account to switch on (CloudTrail data events).',
    });
  }

  /** Writes inputs, and takes back those of a request that is refused after all. */
  grantKeepInputs(fn: Construct & IGrantable): FileVariables {
    return this.grant(fn, 's3:PutObject', 's3:DeleteObject');
  }

  /** Reads inputs. */
  grantReadInputs(fn: Construct & IGrantable): FileVariables {
    return this.grant(fn, 's3:GetObject');
  }

  private grant(fn: Construct & IGrantable, ...actions: string[]): FileVariables {
    allow(fn, actions, [this.bucket.arnForObjects(`${inputs}*`)]);
    const id = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
    Validations.of(fn).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${id}.Arn>/${inputs}*]`,
      reason: 'All inputs, and nothing else in the bucket: their keys are made at run time.',
    });
    return { WEIR_BUCKET: this.bucket.bucketName };
  }
}
