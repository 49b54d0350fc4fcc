import { admitRoute } from '../lib/http/admit-route.ts';
import { httpHandler } from '../lib/http/http-handler.ts';
import { wire, wireDeps } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('admit', config, process.env);
export const handler = httpHandler(wired.log, admitRoute(wireDeps(wired), wired.settings.WEIR_BASE_URL));
