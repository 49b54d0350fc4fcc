import { workHandler } from '../lib/queue/work-handler.ts';
import { wire, wireDeps } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('work', config, process.env);
export const handler = workHandler(wireDeps(wired), wired.settings.WEIR_POOL);
