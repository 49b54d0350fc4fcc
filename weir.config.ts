import { defineConfig } from './lib/config.ts';
import pdf from './tasks/pdf.ts';
import probe from './tasks/probe.ts';
import summary from './tasks/summary.ts';

export default defineConfig({
  pools: {
    conversions: { running: 4, pending: 20, memoryMb: 2_048 },
    // A way to the internet costs by the hour: only with a model to ask there.
    ai: { running: 2, pending: 20, egress: process.env.WEIR_AI_BASE_URL === undefined ? 'none' : 'internet' },
    examples: { running: 4, pending: 20, leaseMs: 15_000, heartbeatMs: 5_000 },
  },
  rates: {
    // Off until an operator sets their numbers.
    'submit-ip': { identity: 'ip' },
    'submit-tenant': { identity: 'tenant' },
    'hooks-source': { on: ['hooks'], identity: 'source', algorithm: 'fixed-window', limit: 500, periodMs: 60_000 },
    'hooks-ip': { on: ['hooks'], identity: 'ip', algorithm: 'fixed-window', limit: 50, periodMs: 1_000 },
  },
  // For trying: a group of alerts that fires starts a probe.
  hooks: {
    alerts: {
      kind: 'alertmanager',
      api: 'examples/probe',
      input: ({ status, groupKey }) => (status === 'firing' ? { tag: groupKey.slice(0, 1_000) } : undefined),
    },
  },
  tasks: [pdf, probe, summary],
});
