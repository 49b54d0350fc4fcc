import { defineConfig } from './lib/config.ts';
import pdf from './tasks/pdf.ts';
import probe from './tasks/probe.ts';

export default defineConfig({
  pools: {
    conversions: { running: 4, pending: 20, memoryMb: 2_048 },
    ai: { running: 2, pending: 20, egress: 'internet' },
    examples: { running: 4, pending: 20, leaseMs: 15_000, heartbeatMs: 5_000 },
  },
  tasks: [pdf, probe],
});
