import { httpHandler } from '../lib/http/http-handler.ts';
import { statusRoute } from '../lib/http/status-route.ts';
import { wire, wireStatus } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('status', config, process.env);
export const handler = httpHandler(wired.log, statusRoute(wireStatus(wired), wired.settings.WEIR_BASE_URL));
