import {
  AuthorizationType,
  EndpointType,
  type IAuthorizer,
  type IResource,
  LambdaIntegration,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Aws, Fn, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Weir } from '../lib/config.ts';
import { type FunctionBase, WeirFunction } from './function.ts';
import { answerWithProblems } from './gateway-responses.ts';
import { OperatorAccess } from './operator-access.ts';
import type { State } from './state.ts';

/** Also the first segment of every path, so that a path is the same in the cloud, on one machine and in the docs. */
const stageName = 'api';

/** A long poll waits up to 25 s and the gateway cuts at 29 s. */
const longPollTimeoutMs = 29_000;

/** Long polls wait in an instance each: on one machine more of them than of any other function. */
const localStatusInstances = 20;

export type ApiProps = { readonly weir: Weir; readonly functions: FunctionBase; readonly state: State };

/** The regional REST API and the functions that answer it. */
export class Api extends Construct {
  /** With the stage, without a slash at the end. */
  readonly baseUrl: string;
  readonly admit: WeirFunction<'admit'>;
  readonly status: WeirFunction<'status'>;
  readonly upload: WeirFunction<'upload'>;
  readonly control: WeirFunction<'control'>;

  constructor(scope: Construct, id: string, { weir, functions, state }: ApiProps) {
    super(scope, id);
    const { tasks, files, queues, mend, deliveries, signing, network, cache } = state;
    const rest = restApi(this, functions.stage);
    // Not `rest.url`: it depends on the deployment, and the deployment on the functions that are told this URL.
    this.baseUrl = Fn.join('', [
      'https://',
      rest.restApiId,
      '.execute-api.',
      Aws.REGION,
      '.',
      Aws.URL_SUFFIX,
      '/',
      stageName,
    ]);

    this.admit = new WeirFunction(this, {
      base: functions,
      name: 'admit',
      description: 'Decides a posted task, or what an event asks for, and records it',
      memoryMb: 1_024,
      timeoutMs: longPollTimeoutMs,
      network,
      connect: (fn) => ({
        ...cache.grantUse(fn),
        ...tasks.grantCreate(fn),
        ...files.grantKeepFiles(fn),
        ...queues.grantSend(fn),
        ...mend.grantSend(fn),
        ...signing.grantRead(fn),
        WEIR_BASE_URL: this.baseUrl,
      }),
    });
    this.status = new WeirFunction(this, {
      base: functions,
      name: 'status',
      description: 'Reads a task, also by long poll, and lists them',
      memoryMb: 512,
      timeoutMs: longPollTimeoutMs,
      network,
      reservedConcurrency: weir.reserved.status,
      localInstances: localStatusInstances,
      connect: (fn) => ({
        ...cache.grantUse(fn),
        ...tasks.grantRead(fn),
        ...signing.grantRead(fn),
        WEIR_BASE_URL: this.baseUrl,
      }),
    });
    this.upload = new WeirFunction(this, {
      base: functions,
      name: 'upload',
      description: 'Names uploads, and signs the URLs that their bytes are sent to and results are read from',
      memoryMb: 512,
      timeoutMs: 10_000,
      connect: (fn) => ({
        ...tasks.grantUploads(fn),
        ...files.grantTakeUploads(fn),
        ...files.grantReadResults(fn),
        WEIR_BASE_URL: this.baseUrl,
      }),
    });
    this.control = new WeirFunction(this, {
      base: functions,
      name: 'control',
      description: 'Cancels tasks, tells how full the pools are, and does what operators ask',
      memoryMb: 512,
      timeoutMs: 10_000,
      network,
      connect: (fn) => ({
        ...cache.grantUse(fn),
        ...tasks.grantControl(fn),
        ...queues.grantCount(fn),
        ...mend.grantSend(fn),
        ...deliveries.grantSend(fn),
        ...signing.grantRead(fn),
        WEIR_BASE_URL: this.baseUrl,
      }),
    });
    this.route(rest.root, new OperatorAccess(this, 'operator', functions).authorizer);
  }

  private route(root: IResource, operators: IAuthorizer): void {
    const v1 = root.addResource('v1');
    answer(v1.addResource('{group}').addResource('{name}').addResource('tasks'), 'POST', this.admit);
    answer(v1.addResource('hooks').addResource('{source}'), 'POST', this.admit);
    const tasks = v1.addResource('tasks');
    answer(tasks, 'GET', this.status);
    const task = tasks.addResource('{id}');
    answer(task, 'GET', this.status);
    answer(task, 'DELETE', this.control);
    answer(task.addResource('result'), 'GET', this.upload);
    const uploads = v1.addResource('uploads');
    answer(uploads, 'POST', this.upload);
    const upload = uploads.addResource('{id}');
    for (const method of ['GET', 'DELETE']) answer(upload, method, this.upload);
    answer(v1.addResource('queue').addResource('status'), 'GET', this.control);
    const operator = v1.addResource('operator');
    const limits = operator.addResource('limits');
    for (const method of ['GET', 'PATCH', 'PUT']) answer(limits, method, this.control, operators);
    answer(operator.addResource('slots'), 'GET', this.control, operators);
    for (const secret of ['webhook-secret', 'hook-secret'])
      answer(operator.addResource(secret), 'GET', this.control, operators);
    const pool = operator.addResource('pools').addResource('{pool}');
    for (const change of ['pause', 'resume']) answer(pool.addResource(change), 'POST', this.control, operators);
    const dead = operator.addResource('dead-letters');
    answer(dead, 'GET', this.control, operators);
    const redrive = dead.addResource('redrive');
    for (const method of ['POST', 'GET', 'DELETE']) answer(redrive, method, this.control, operators);
    answer(root.addResource('health'), 'GET', this.control);
  }
}

/** `authorizer` absent: open to all. */
function answer(resource: IResource, method: string, fn: IFunction, authorizer?: IAuthorizer): void {
  const made = resource.addMethod(
    method,
    new LambdaIntegration(fn, { allowTestInvoke: false }),
    authorizer === undefined
      ? { authorizationType: AuthorizationType.NONE }
      : { authorizationType: AuthorizationType.CUSTOM, authorizer },
  );
  Validations.of(made).acknowledge({ id: 'AwsSolutions-COG4', reason: 'Identity does not come from Cognito.' });
  if (authorizer !== undefined) return;
  const reason = 'Identity mode `open`: one tenant, no authorizer on task routes.';
  Validations.of(made).acknowledge({ id: 'AwsSolutions-APIG4', reason });
}

function restApi(scope: Construct, stage: string): RestApi {
  const rest = new RestApi(scope, 'rest', {
    restApiName: `weir-${stage}`,
    description: 'Weir admits tasks',
    endpointTypes: [EndpointType.REGIONAL],
    // Never `*/*`: JSON would then arrive in base64 and cost a third of the size limit.
    binaryMediaTypes: ['multipart/form-data'],
    cloudWatchRole: false,
    deployOptions: { stageName, throttlingRateLimit: 1_000, throttlingBurstLimit: 2_000, metricsEnabled: true },
  });
  // CDK's own output gives a URL without `/v1`.
  rest.node.tryRemoveChild('Endpoint');
  answerWithProblems(rest);
  const logs =
    'Access logs need a role that belongs to the whole account, so an account switches them on, not this stack.';
  Validations.of(rest).acknowledge(
    { id: 'AwsSolutions-APIG1', reason: logs },
    { id: 'AwsSolutions-APIG6', reason: logs },
    {
      id: 'AwsSolutions-APIG2',
      reason: '`admit` checks each body and names every fault by its path, which a gateway model cannot.',
    },
    {
      id: 'AwsSolutions-APIG3',
      reason: 'Admission limits are the protection; a web ACL is for the account to attach to the stage.',
    },
  );
  return rest;
}
