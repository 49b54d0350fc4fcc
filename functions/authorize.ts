import { authorizeHandler } from '../lib/http/authorize.ts';
import { wireAuthorize } from '../lib/wiring.ts';

export const handler = authorizeHandler(wireAuthorize(process.env));
