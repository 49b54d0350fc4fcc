import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { heartbeatMs, leaseMs, pending, resendAgeMs, running, startWindowMs } from './times.ts';

/** The name of the deployment, in the names of its functions and keys. */
export const stage = process.env.WEIR_STAGE ?? 'main';

const copied = ['cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json', 'lib', 'functions', 'infra', 'tasks'];

/**
 * Copies what a deployment is made of from `source` into `folder`, with a configuration of the campaign's own in the place of weir.config.ts. An edit
 * in `source` changes a campaign that runs no more.
 */
export function copyProject(source: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of copied) cpSync(join(source, name), join(folder, name), { recursive: true });
  symlinkSync(resolve(source, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'weir.config.ts'), configuration);
}

const configuration = `import { defineConfig } from './lib/config.ts';
import probe from './tasks/probe.ts';

export default defineConfig({
  pools: {
    examples: {
      running: ${running}, pending: ${pending}, maxRunning: ${running}, memoryMb: 512, leaseMs: ${leaseMs}, heartbeatMs: ${heartbeatMs},
    },
  },
  times: { startWindowMs: ${startWindowMs}, resendAgeMs: ${resendAgeMs} },
  tasks: [probe],
});
`;
