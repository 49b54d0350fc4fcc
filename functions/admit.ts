import { httpHandler } from '../lib/http/http-handler.ts';
import { submitRoute } from '../lib/http/submit-route.ts';
import { wire, wireAdmit } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('admit', config, process.env);
export const handler = httpHandler(wired.log, submitRoute(wireAdmit(wired), wired.settings.WEIR_BASE_URL));
