import { heartThread } from '../lib/heart/heart-thread.ts';
import { wire, wireHeart } from '../lib/wiring.ts';
import config from '../weir.config.ts';

/** A thread beside the handlers of `work`, in its bundle and with its variables. */
heartThread(wireHeart(wire('work', config, process.env)));
