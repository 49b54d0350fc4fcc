import { buryHandler } from '../lib/queue/bury-handler.ts';
import { wire, wireBury } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('bury', config, process.env);
export const handler = buryHandler(wireBury(wired));
