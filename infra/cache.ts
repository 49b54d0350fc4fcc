import { Port, SecurityGroup } from 'aws-cdk-lib/aws-ec2';
import { CfnParameterGroup, CfnReplicationGroup, CfnSubnetGroup } from 'aws-cdk-lib/aws-elasticache';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Fn, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import type { Network } from './network.ts';

const cachePort = 6379;

/**
 * Redis for the decisions: node-based Valkey, one shard with a replica in another zone. Node-based and `noeviction`, because the serverless
 * kind evicts keys that have a TTL, and our locks and leases have one. In cluster mode from the start, so that a second shard is no move.
 */
export class Cache extends Construct {
  /** Ids of the nodes, for metrics. */
  readonly nodeIds: readonly string[];
  private readonly url: string;
  private readonly secret: Secret;

  constructor(scope: Construct, id: string, network: Network) {
    super(scope, id);
    // ElastiCache takes 16 to 128 printable characters, and of punctuation only a few.
    this.secret = new Secret(this, 'password', {
      description: 'Password of the cache; functions read it at cold start',
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'password',
        passwordLength: 64,
        excludePunctuation: true,
      },
    });
    Validations.of(this.secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'ElastiCache has no hosted rotation; docs/runbook.md#change-the-cache-password says how it is changed.',
    });
    const group = new SecurityGroup(this, 'group', {
      vpc: network.vpc,
      description: 'the cache',
      allowAllOutbound: false,
    });
    group.addIngressRule(network.clients, Port.tcp(cachePort), 'functions only');
    network.clients.addEgressRule(group, Port.tcp(cachePort), 'the cache');

    const parameters = new CfnParameterGroup(this, 'parameters', {
      cacheParameterGroupFamily: 'valkey8',
      description: 'Weir: nothing is evicted, a full cache refuses writes',
      properties: { 'cluster-enabled': 'yes', 'maxmemory-policy': 'noeviction' },
    });
    const subnets = new CfnSubnetGroup(this, 'subnets', {
      description: 'Weir: the subnets without a route out',
      subnetIds: network.vpc.isolatedSubnets.map((subnet) => subnet.subnetId),
    });
    const nodes = new CfnReplicationGroup(this, 'nodes', {
      replicationGroupDescription: 'Weir: seats, slots and locks',
      engine: 'valkey',
      engineVersion: '8.0',
      cacheNodeType: 'cache.t4g.small',
      numNodeGroups: 1,
      replicasPerNodeGroup: 1,
      clusterMode: 'enabled',
      automaticFailoverEnabled: true,
      multiAzEnabled: true,
      atRestEncryptionEnabled: true,
      transitEncryptionEnabled: true,
      transitEncryptionMode: 'required',
      authToken: this.secret.secretValueFromJson('password').unsafeUnwrap(),
      port: cachePort,
      cacheParameterGroupName: parameters.ref,
      cacheSubnetGroupName: subnets.ref,
      securityGroupIds: [group.securityGroupId],
      snapshotRetentionLimit: 0,
    });
    this.nodeIds = ['001', '002'].map((node) => Fn.join('-', [nodes.ref, '0001', node]));
    const { attrConfigurationEndPointAddress: address, attrConfigurationEndPointPort: port } = nodes;
    this.url = Fn.join('', ['rediss://', address, ':', port]);
  }

  /** The function may log in. It must run in the network's placement, or it does not reach the cache. */
  grantUse(fn: IGrantable): Pick<Variables<'admit'>, 'WEIR_REDIS_URL' | 'WEIR_REDIS_SECRET_ARN'> {
    this.secret.grantRead(fn);
    return { WEIR_REDIS_URL: this.url, WEIR_REDIS_SECRET_ARN: this.secret.secretArn };
  }
}
