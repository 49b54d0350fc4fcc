import { heartbeatMs, leaseMs, pending, resendAgeMs, running, startWindowMs } from './times.ts';

/** The name of the deployment, in the names of its functions and keys. */
export const stage = process.env.WEIR_STAGE ?? 'main';

/** The weir.config.ts of the stack that is struck. */
export const configuration = `import { defineConfig } from './lib/config.ts';
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
