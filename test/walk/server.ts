import { Redis } from 'ioredis';
import { inject, onTestFinished } from 'vitest';
import { loadScripts, type Scripts } from './scripts.ts';

export async function openServer(scripts: Scripts): Promise<Redis> {
  const redis = new Redis({ host: '127.0.0.1', port: inject('ports').redis });
  onTestFinished(() => redis.disconnect());
  await loadScripts(redis, scripts);
  return redis;
}
