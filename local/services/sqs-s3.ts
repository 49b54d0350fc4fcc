import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceFolder, withRemoval } from './place.ts';
import { runService, type Service, type ServiceOptions } from './service.ts';

/** An SQS and S3 server on one port, in a process that ends when this one does. With a dataDir it keeps its data there. */
export async function startSqsS3(options: ServiceOptions = {}): Promise<Service> {
  const { folder, remove } = serviceFolder('sqs-s3', options.dataDir);
  const script = fileURLToPath(new URL('./sqs-s3-server.ts', import.meta.url));
  try {
    const service = await runService(
      {
        name: 'sqs+s3',
        command: process.execPath,
        args: (port) => [script, String(port), ...(options.dataDir === undefined ? [] : [folder])],
        forked: true,
        check: health,
        readyWithinMs: 30_000,
        whenMissing: `${process.execPath} is gone`,
      },
      { ...options, logFile: options.logFile ?? join(folder, 'sqs-s3.log') },
    );
    return withRemoval(service, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

async function health(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(2_000) });
  await response.text();
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
}
