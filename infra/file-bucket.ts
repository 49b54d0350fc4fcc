import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type CfnBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { fileKeepMs, inputsPrefix, quarantinePrefix, resultsPrefix, uploadTag } from '../lib/domain/file-places.ts';
import { day } from '../lib/domain/time.ts';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';

/** An upload that no task used is named by its record for a day. */
const unusedDays = 2;

type FileVariables = Pick<Variables<'admit'>, 'WEIR_BUCKET'>;

/**
 * The files clients sent, and results that do not fit a record. Not versioned: every object is written once, under a key no client can choose, an uploaded one
 * by a URL that brings the declared bytes or none, and who reads it holds it against its SHA-256. What a task uses outlives its record.
 */
export class FileBucket extends Construct {
  private readonly bucket: Bucket;

  constructor(scope: Construct, id: string, keepMs: number) {
    super(scope, id);
    const kept = Duration.days(Math.ceil(fileKeepMs(keepMs) / day));
    this.bucket = new Bucket(this, 'bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.RETAIN,
      lifecycleRules: [
        { id: 'inputs', prefix: inputsPrefix, expiration: kept },
        // The shorter of two rules counts, and this one no more once a task has used the upload.
        {
          id: 'unused-uploads',
          prefix: quarantinePrefix,
          tagFilters: { [uploadTag.key]: uploadTag.unused },
          expiration: Duration.days(unusedDays),
        },
        { id: 'uploads', prefix: quarantinePrefix, expiration: kept },
        { id: 'results', prefix: resultsPrefix, expiration: Duration.days(Math.ceil(keepMs / day) + 1) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the functions reach the bucket; access logs are for the account to switch on (CloudTrail data events).',
    });
  }

  /** Writes inputs, takes back those of a request that is refused after all, and looks at uploads and keeps them. */
  grantKeepFiles(fn: Construct & IGrantable): FileVariables {
    this.grant(fn, inputsPrefix, 's3:PutObject', 's3:DeleteObject');
    return this.grant(fn, quarantinePrefix, 's3:GetObject', 's3:PutObjectTagging');
  }

  /** Signs URLs that bring uploads, which may do what this function may, looks at them and removes them. */
  grantTakeUploads(fn: Construct & IGrantable): FileVariables {
    return this.grant(fn, quarantinePrefix, 's3:PutObject', 's3:PutObjectTagging', 's3:GetObject', 's3:DeleteObject');
  }

  /** Reads what a task names, and writes results. */
  grantWork(fn: Construct & IGrantable): FileVariables {
    this.grant(fn, inputsPrefix, 's3:GetObject');
    this.grant(fn, quarantinePrefix, 's3:GetObject');
    return this.grant(fn, resultsPrefix, 's3:PutObject');
  }

  /** Signs URLs that read results. */
  grantReadResults(fn: Construct & IGrantable): FileVariables {
    return this.grant(fn, resultsPrefix, 's3:GetObject');
  }

  private grant(fn: Construct & IGrantable, prefix: string, ...actions: string[]): FileVariables {
    allow(fn, actions, [this.bucket.arnForObjects(`${prefix}*`)]);
    const id = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
    Validations.of(fn).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${id}.Arn>/${prefix}*]`,
      reason: 'All objects of one kind, and nothing else in the bucket: their keys are made at run time.',
    });
    return { WEIR_BUCKET: this.bucket.bucketName };
  }
}
