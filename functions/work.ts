import { threadHeart } from '../lib/heart/thread-heart.ts';
import { workHandler } from '../lib/queue/work-handler.ts';
import { wire, wireDeps, wireTaskSettings } from '../lib/wiring.ts';
import config from '../weir.config.ts';

const wired = wire('work', config, process.env);
const heart = threadHeart(new URL('./heartbeat.mjs', import.meta.url), wired.log);
const deps = { ...wireDeps(wired), heart, taskSettings: wireTaskSettings(process.env) };
export const handler = workHandler(deps, wired.settings.WEIR_POOL);
