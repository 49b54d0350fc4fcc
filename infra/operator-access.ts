import { IdentitySource, RequestAuthorizer } from 'aws-cdk-lib/aws-apigateway';
import { type CfnSecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Duration, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { allow } from './allow.ts';
import { type FunctionBase, WeirFunction } from './function.ts';

/** Requests with the same credential within this time ask `authorize` once; one that was changed counts for as long as that at most. */
const resultsCacheTtl = Duration.minutes(1);

/** Who may use the operator routes: whoever has the operator's token. */
export class OperatorAccess extends Construct {
  readonly authorizer: RequestAuthorizer;

  constructor(scope: Construct, id: string, functions: FunctionBase) {
    super(scope, id);
    const secret = this.makeToken(functions.stage);
    const authorize = new WeirFunction(this, {
      base: functions,
      name: 'authorize',
      description: "Checks the operator's token",
      memoryMb: 256,
      timeoutMs: 10_000,
      connect: (fn) => {
        allow(fn, ['secretsmanager:GetSecretValue'], [secret.secretArn]);
        return { WEIR_OPERATOR_SECRET_ARN: secret.secretArn };
      },
    });
    this.authorizer = new RequestAuthorizer(this, 'authorizer', {
      handler: authorize,
      identitySources: [IdentitySource.header('Authorization')],
      resultsCacheTtl,
    });
  }

  private makeToken(stage: string): Secret {
    const secret = new Secret(this, 'token', {
      secretName: `weir-${stage}-operator`,
      description: "The operator's token: Authorization: Bearer <token>",
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'token',
        passwordLength: 48,
        excludePunctuation: true,
      },
    });
    // On one machine the operator says the token, or reads it when the stack is ready.
    (secret.node.defaultChild as CfnSecret).addMetadata('local', {
      environmentVariable: 'WEIR_OPERATOR_TOKEN',
      print: 'Operator token',
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'People and scripts hold it, so people change it; docs/runbook.md#change-the-operator-token says how.',
    });
    return secret;
  }
}
