import { App } from 'aws-cdk-lib/core';
import { ConfigError, checkConfig } from '../lib/config.ts';
import source from '../weir.config.ts';
import { BundleError, bundleFunctions } from './bundle.ts';
import { WeirStack } from './stack.ts';
import { readStage } from './stage.ts';

try {
  const weir = checkConfig(source, process.env);
  const stage = readStage(weir, process.env);
  const code = await bundleFunctions();
  const app = new App();
  new WeirStack(app, `weir-${stage}`, { weir, stage, code, environment: process.env });
  app.synth();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof BundleError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
