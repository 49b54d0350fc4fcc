import { expect, test } from 'vitest';
import shipped from '../../weir.config.ts';
import { Synthesized } from './synthesize.ts';

const made = new Synthesized();

test('the shipped config has no NAT gateway and no way to the internet', () => {
  expect(shipped.pools.ai?.egress, 'without a model to ask').toBe('none');
  expect(made.all('AWS::EC2::NatGateway')).toEqual([]);
  expect(made.all('AWS::EC2::InternetGateway')).toEqual([]);
  expect(made.all('AWS::EC2::Route')).toEqual([]);
});

test('AWS services are reached through endpoints', () => {
  const names = made.all('AWS::EC2::VPCEndpoint').map(([, { Properties }]) => JSON.stringify(Properties.ServiceName));
  for (const service of ['sqs', 'secretsmanager', 'dynamodb', 's3'])
    expect(names.some((name) => name.includes(`.${service}`))).toBe(true);
});

test('only the functions reach the cache and the endpoints', () => {
  for (const [, { Properties }] of made.all('AWS::EC2::SecurityGroup'))
    expect(Properties.SecurityGroupIngress).toBeUndefined();
  const groups = made.fn('admit').Properties.VpcConfig?.SecurityGroupIds;
  for (const [, { Properties }] of made.all('AWS::EC2::SecurityGroupIngress')) {
    expect([Properties.SourceSecurityGroupId]).toEqual(groups);
    expect([443, 6379]).toContain(Properties.FromPort);
  }
  expect(made.all('AWS::EC2::SecurityGroupIngress')).toHaveLength(2);
});

test('a task in a pool with egress brings one NAT gateway, and only its function uses it', () => {
  const pools = { ...shipped.pools, ai: { running: 2, pending: 20, egress: 'internet' as const } };
  const open = new Synthesized({ config: { ...shipped, pools } });
  expect(open.all('AWS::EC2::NatGateway')).toHaveLength(1);
  const subnets = (name: string) => JSON.stringify(open.fn(name).Properties.VpcConfig?.SubnetIds);
  expect(subnets('work-ai')).not.toBe(subnets('work-examples'));
  expect(subnets('work-conversions')).toBe(subnets('work-examples'));
  expect(open.fn('work-ai').Properties.VpcConfig?.SecurityGroupIds).toHaveLength(2);
  // The subnets that were there stay as they are, so that such a task can be added to a running deployment.
  const blocks = (each: Synthesized) =>
    each.all('AWS::EC2::Subnet').map(([id, { Properties }]) => `${id} ${Properties.CidrBlock}`);
  expect(blocks(open)).toEqual(expect.arrayContaining(blocks(made)));
});
