import { controlRoute } from '../lib/http/control-route.ts';
import { httpHandler } from '../lib/http/http-handler.ts';
import { wire, wireControl } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('control', config, process.env);
export const handler = httpHandler(wired.log, controlRoute(wireControl(wired), wired.settings.WEIR_BASE_URL));
