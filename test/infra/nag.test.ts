import { rmSync } from 'node:fs';
import { Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, onTestFinished, test } from 'vitest';
import shipped from '../../weir.config.ts';
import { makeStack } from './synthesize.ts';

/** As with a model to ask. */
const open = { ...shipped, pools: { ...shipped.pools, ai: { running: 2, pending: 20, egress: 'internet' as const } } };

test.each([
  ['the shipped config', shipped],
  ['a pool with egress', open],
])('%s passes the AwsSolutions rules', (_, config) => {
  const { app } = makeStack({ config });
  onTestFinished(() => rmSync(app.outdir, { recursive: true, force: true }));
  const checks = new AwsSolutionsChecks(app);
  Validations.of(app).addPlugins(checks);
  const report = checks.validateScope(app);
  const found = report.violations.map(({ ruleName, violatingResources }) => [
    ruleName,
    violatingResources.map((each) => each.resourceLogicalId ?? each.constructPath),
  ]);
  expect(found).toEqual([]);
});
