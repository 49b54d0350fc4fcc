import { rmSync } from 'node:fs';
import { Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTask } from '../../lib/task.ts';
import shipped from '../../weir.config.ts';
import { makeStack } from './synthesize.ts';

const summary = defineTask({
  api: 'ai/summary',
  pool: 'ai',
  input: z.object({}),
  timeoutMs: 1_000,
  run: async () => null,
});

test.each([
  ['the shipped config', shipped],
  ['a pool with egress', { ...shipped, tasks: [...shipped.tasks, summary] }],
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
