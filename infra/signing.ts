import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';

/** The one secret that the keys of webhooks, hooks and cursors are derived from. */
export class Signing extends Construct {
  private readonly secret: Secret;

  constructor(scope: Construct, id: string, stage: string) {
    super(scope, id);
    this.secret = new Secret(this, 'master', {
      secretName: `weir-${stage}-signing`,
      description: 'What webhooks and cursors are signed with, and the secrets of hooks, are derived from it',
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'master',
        passwordLength: 64,
        excludePunctuation: true,
      },
    });
    Validations.of(this.secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'Receivers and senders hold what is derived from it, so people change it; docs/runbook.md#change-the-signing-secret says how.',
    });
  }

  grantRead(fn: IGrantable): Pick<Variables<'deliver'>, 'WEIR_SIGNING_SECRET_ARN'> {
    allow(fn, ['secretsmanager:GetSecretValue'], [this.secret.secretArn]);
    return { WEIR_SIGNING_SECRET_ARN: this.secret.secretArn };
  }
}
