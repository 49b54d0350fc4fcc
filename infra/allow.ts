import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** Lets `grantee` do exactly `actions` on `resources`. */
export function allow(grantee: IGrantable, actions: string[], resources: string[]): void {
  grantee.grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources }));
}
