import { httpHandler } from '../lib/http/http-handler.ts';
import { rateGuard } from '../lib/http/rate-guard.ts';
import { statusRoute } from '../lib/http/status-route.ts';
import { wire, wireStatus } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('status', config, process.env);
const deps = wireStatus(wired);
const route = rateGuard(deps, 'reads')(statusRoute(deps, wired.settings.WEIR_BASE_URL));
export const handler = httpHandler(wired.log, route);
