import { httpHandler } from '../lib/http/http-handler.ts';
import { uploadRoute } from '../lib/http/upload-route.ts';
import { wire, wireUpload } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('upload', config, process.env);
export const handler = httpHandler(wired.log, uploadRoute(wireUpload(wired), wired.settings.WEIR_BASE_URL));
