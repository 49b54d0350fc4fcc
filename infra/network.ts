import {
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpointAwsService,
  IpAddresses,
  type IVpc,
  Peer,
  Port,
  SecurityGroup,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Weir } from '../lib/config.ts';

export type Egress = 'none' | 'internet';
export type Placement = {
  readonly vpc: IVpc;
  readonly vpcSubnets: SubnetSelection;
  readonly securityGroups: SecurityGroup[];
};

/** The pools some task is in. A pool without one gets no queue, no function and no way to the internet: nothing would use them. */
export function poolsInUse(weir: Weir): Weir['pools'][string][] {
  const used = new Set(Object.values(weir.tasks).map((task) => task.pool));
  return Object.values(weir.pools).filter((pool) => used.has(pool.name));
}

/**
 * The VPC of the functions that talk to the cache. Its subnets have no route out, AWS services are reached through endpoints; a NAT gateway
 * comes only with a pool in use that asks for `egress: 'internet'`.
 */
export class Network extends Construct {
  readonly vpc: IVpc;
  /** The one security group the cache admits. */
  readonly clients: SecurityGroup;
  private readonly internet: SecurityGroup | undefined;

  constructor(scope: Construct, id: string, weir: Weir) {
    super(scope, id);
    const internet = poolsInUse(weir).some((pool) => pool.egress === 'internet');
    const isolated = { name: 'isolated', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 22 };
    this.vpc = new Vpc(this, 'vpc', {
      ipAddresses: IpAddresses.cidr('10.40.0.0/16'),
      maxAzs: 2,
      // A custom resource, one more function, for a group nothing uses.
      restrictDefaultSecurityGroup: false,
      natGateways: internet ? 1 : 0,
      subnetConfiguration: internet
        ? [
            isolated,
            { name: 'egress', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 22 },
            { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 26, mapPublicIpOnLaunch: false },
          ]
        : [isolated],
      gatewayEndpoints: {
        dynamodb: { service: GatewayVpcEndpointAwsService.DYNAMODB },
        s3: { service: GatewayVpcEndpointAwsService.S3 },
      },
      // CDK's own types do not fit each other under exactOptionalPropertyTypes.
    }) as IVpc;
    Validations.of(this.vpc).acknowledge({
      id: 'AwsSolutions-VPC7',
      reason: 'Flow logs cost more than this network carries; it is closed by its routes and security groups.',
    });
    this.clients = this.group('clients', 'functions that use the cache');
    // Gateway endpoints have public addresses of AWS; without a route out, 443 to anywhere reaches only them and the interface endpoints.
    this.clients.addEgressRule(Peer.anyIpv4(), Port.tcp(443), 'AWS services through the endpoints');
    if (internet) {
      this.internet = this.group('internet', 'functions of pools with egress to the internet');
      this.internet.addEgressRule(Peer.anyIpv4(), Port.allTcp(), 'whatever backend the pool stands in front of');
    }
    this.openEndpoints();
  }

  /** Where a function runs. `internet` is refused when no pool in use asked for it. */
  placement(egress: Egress): Placement {
    if (egress === 'none') {
      return { vpc: this.vpc, vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED }, securityGroups: [this.clients] };
    }
    if (this.internet === undefined)
      throw new Error('no pool with a task has egress: internet, so there is no NAT gateway');
    return {
      vpc: this.vpc,
      vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
      securityGroups: [this.clients, this.internet],
    };
  }

  private openEndpoints(): void {
    const endpoints = this.group('endpoints', 'interface endpoints of AWS services');
    endpoints.addIngressRule(this.clients, Port.tcp(443), 'functions only');
    const services = {
      sqs: InterfaceVpcEndpointAwsService.SQS,
      secrets: InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
    };
    for (const [id, service] of Object.entries(services)) {
      this.vpc.addInterfaceEndpoint(id, {
        service,
        subnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
        securityGroups: [endpoints],
        open: false,
      });
    }
  }

  private group(id: string, description: string): SecurityGroup {
    return new SecurityGroup(this, id, { vpc: this.vpc, description, allowAllOutbound: false });
  }
}
