import { Architecture, type CfnFunction, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { limitVariablePrefixes } from '../lib/limit-variables.ts';
import type { FunctionName, Variables } from '../lib/settings.ts';
import type { FunctionCode } from './bundle.ts';
import type { Egress, Network } from './network.ts';
import { functionName } from './stage.ts';

/** What the functions of one deployment share. */
export type FunctionBase = {
  /** The deployment's name. */
  readonly stage: string;
  readonly code: FunctionCode;
  /** Limits set by environment variable. */
  readonly limits: Readonly<Record<string, string>>;
};

/** The variables of `environment` that set limits; `checkConfig` has refused those that name none. */
export function limitVariables(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const limits: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && limitVariablePrefixes.some((prefix) => name.startsWith(prefix))) limits[name] = value;
  }
  return limits;
}

export type WeirFunctionProps<Name extends FunctionName> = {
  readonly base: FunctionBase;
  /** Names the bundle and the type of the variables. */
  readonly name: Name;
  /** Set for one of several functions with the same bundle. */
  readonly suffix?: string;
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutMs: number;
  /** Absent: outside the VPC. */
  readonly network?: Network;
  readonly egress?: Egress;
  readonly reservedConcurrency?: number | undefined;
  /** How many instances `local/` gives it at most. Absent: its usual number. */
  readonly localInstances?: number;
  /** What the function may touch: each grant returns the variables that go with it, and a forgotten one does not compile. */
  readonly connect: (fn: LambdaFunction) => Omit<Variables<Name>, 'WEIR_STAGE'>;
};

/** A Lambda function with nothing left to a silent default: runtime, memory, timeout, log group and variables. */
export class WeirFunction<Name extends FunctionName> extends LambdaFunction {
  constructor(scope: Construct, props: WeirFunctionProps<Name>) {
    const { base, name, suffix, description, memoryMb, timeoutMs, network, egress = 'none' } = props;
    const id = suffix === undefined ? name : `${name}-${suffix}`;
    const fullName = functionName(base.stage, id);
    super(scope, id, {
      functionName: fullName,
      description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: base.code(name),
      handler: 'index.handler',
      memorySize: memoryMb,
      timeout: Duration.seconds(Math.ceil(timeoutMs / 1_000)),
      logGroup: new LogGroup(scope, `${id}-log`, {
        logGroupName: `/aws/lambda/${fullName}`,
        retention: RetentionDays.ONE_MONTH,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      environment: base.limits,
      ...(network === undefined ? {} : network.placement(egress)),
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
    });
    for (const [variable, value] of Object.entries(props.connect(this) as Record<string, string>))
      this.addEnvironment(variable, value);
    this.addEnvironment('WEIR_STAGE', base.stage);
    if (props.localInstances !== undefined) {
      (this.node.defaultChild as CfnFunction).addMetadata('local', { instances: props.localInstances });
    }
    this.acknowledgeManagedPolicies();
  }

  private acknowledgeManagedPolicies(): void {
    const reason = "Lambda's own policies for its log and its network interfaces, which take no narrower resource.";
    for (const policy of ['AWSLambdaBasicExecutionRole', 'AWSLambdaVPCAccessExecutionRole']) {
      const id = `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/${policy}]`;
      Validations.of(this).acknowledge({ id, reason });
    }
  }
}
