import { commandLineOf, endProcess } from './running-process.ts';
import { readLeftState } from './state-file.ts';

/**
 * Ends what a runner that was killed could not: the processes named in its stack.json. A pid may belong to somebody
 * else by now, so each one's command line is read first and must be of the kind and, for a service, have its port.
 */
export async function endLeftovers(dataPath: string, log: (line: string) => void): Promise<void> {
  const left = readLeftState(dataPath);
  if (left === undefined) return;
  const suspects: { what: string; pid: unknown; marks: string[] }[] = [
    { what: 'redis', pid: left.redis?.pid, marks: ['redis-server', String(left.redis?.port)] },
    { what: 'dynamodb', pid: left.dynamodb?.pid, marks: ['DynamoDBLocal', `port=${left.dynamodb?.port}`] },
    { what: 'sqs+s3', pid: left.sqs?.pid, marks: ['sqs-s3-server.ts', String(left.sqs?.port)] },
    ...(Array.isArray(left.functions) ? left.functions : []).map((instance) => ({
      what: `function ${instance.name}`,
      pid: instance.pid,
      marks: ['lambda/runtime.ts', instance.name],
    })),
  ];
  await Promise.all(
    suspects.map(async ({ what, pid, marks }) => {
      if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 1) return;
      const command = commandLineOf(pid);
      if (command === undefined || !marks.every((mark) => command.includes(mark))) return;
      log(`ending ${what} (pid ${pid}), left by a runner that was killed`);
      await endProcess(pid, 5_000);
    }),
  );
}
