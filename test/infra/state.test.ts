import { expect, test } from 'vitest';
import { Synthesized } from './synthesize.ts';

const made = new Synthesized();

test('the table survives mistakes: restored to any moment, not deleted by accident, kept when the stack goes', () => {
  const table = made.only('AWS::DynamoDB::GlobalTable');
  expect(table).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  expect(table.Properties).toMatchObject({
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    Replicas: [
      { DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } },
    ],
  });
});

test('the indexes are sharded, ordered by a moment or by an id, and hold keys only', () => {
  const index = (IndexName: string, shard: string, order: string) => ({
    IndexName,
    KeySchema: [
      { AttributeName: shard, KeyType: 'HASH' },
      { AttributeName: order, KeyType: 'RANGE' },
    ],
    Projection: { ProjectionType: 'KEYS_ONLY' },
  });
  expect(made.only('AWS::DynamoDB::GlobalTable').Properties.GlobalSecondaryIndexes).toMatchObject([
    index('open', 'openShard', 'dueAt'),
    index('dead', 'deadShard', 'finishedAt'),
    index('own', 'ownShard', 'id'),
  ]);
});

test('the bucket is private, and what a task uses outlives its record and that of its redrive', () => {
  const bucket = made.only('AWS::S3::Bucket');
  expect(bucket).toMatchObject({ DeletionPolicy: 'Retain' });
  expect(bucket.Properties).toMatchObject({
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    LifecycleConfiguration: {
      Rules: [
        { Prefix: 'inputs/', ExpirationInDays: 15, Status: 'Enabled' },
        {
          Prefix: 'quarantine/',
          TagFilters: [{ Key: 'state', Value: 'unused' }],
          ExpirationInDays: 2,
          Status: 'Enabled',
        },
        { Prefix: 'quarantine/', ExpirationInDays: 15, Status: 'Enabled' },
        { Prefix: 'results/', ExpirationInDays: 8, Status: 'Enabled' },
        { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: 'Enabled' },
      ],
    },
  });
});

test('the cache evicts nothing, talks TLS only, wants a password and survives a zone', () => {
  expect(made.only('AWS::ElastiCache::ParameterGroup').Properties.Properties).toMatchObject({
    'maxmemory-policy': 'noeviction',
    'cluster-enabled': 'yes',
  });
  expect(made.only('AWS::ElastiCache::ReplicationGroup').Properties).toMatchObject({
    Engine: 'valkey',
    ClusterMode: 'enabled',
    NumNodeGroups: 1,
    ReplicasPerNodeGroup: 1,
    AutomaticFailoverEnabled: true,
    MultiAZEnabled: true,
    AtRestEncryptionEnabled: true,
    TransitEncryptionEnabled: true,
    TransitEncryptionMode: 'required',
  });
  const { AuthToken } = made.only('AWS::ElastiCache::ReplicationGroup').Properties;
  expect(JSON.stringify(AuthToken)).toMatch(/\{\{resolve:secretsmanager:.*:SecretString:password::\}\}/);
});

test('the operator’s token is made by the account, and on one machine by a variable', () => {
  const found = made.all('AWS::SecretsManager::Secret').map(([, secret]) => secret);
  const secret = found.find(({ Properties }) => Properties.Name === 'weir-main-operator');
  expect(secret?.Properties.GenerateSecretString).toMatchObject({
    SecretStringTemplate: '{}',
    GenerateStringKey: 'token',
    PasswordLength: 48,
    ExcludePunctuation: true,
  });
  expect(secret?.Metadata).toMatchObject({
    local: { environmentVariable: 'WEIR_OPERATOR_TOKEN', print: 'Operator token' },
  });
});

test('what signatures are derived from is made by the account, and never printed', () => {
  const found = made.all('AWS::SecretsManager::Secret').map(([, secret]) => secret);
  const secret = found.find(({ Properties }) => Properties.Name === 'weir-main-signing');
  expect(secret?.Properties.GenerateSecretString).toMatchObject({
    SecretStringTemplate: '{}',
    GenerateStringKey: 'master',
    PasswordLength: 64,
    ExcludePunctuation: true,
  });
  expect(secret).not.toHaveProperty('Metadata.local');
});

test('functions are told the address by which a cluster is found', () => {
  const url = made.fn('admit').Properties.Environment?.Variables?.WEIR_REDIS_URL?.['Fn::Join']?.[1];
  expect(url).toEqual([
    'rediss://',
    { 'Fn::GetAtt': [expect.any(String), 'ConfigurationEndPoint.Address'] },
    ':',
    { 'Fn::GetAtt': [expect.any(String), 'ConfigurationEndPoint.Port'] },
  ]);
});
