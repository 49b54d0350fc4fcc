import { deliverHandler } from '../lib/queue/deliver-handler.ts';
import { wire, wireDeliver } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('deliver', config, process.env);
export const handler = deliverHandler(wireDeliver(wired));
