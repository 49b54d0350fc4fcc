import { scheduleHandler } from '../lib/queue/schedule-handler.ts';
import { wire, wireReconcile } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('reconcile', config, process.env);
export const handler = scheduleHandler(wireReconcile(wired));
