import { join } from 'node:path';
import type { FunctionDefinition } from './definition.ts';
import { createPool, type FunctionPool } from './pool.ts';

export type Functions = {
  /** By name, logical id or ARN; a version or alias in the ARN is ignored. */
  find(nameOrArn: string): FunctionPool | undefined;
  all(): FunctionPool[];
  stop(): Promise<void>;
};

export function createFunctions(
  definitions: FunctionDefinition[],
  options: { logsFolder: string; log: (line: string) => void; onChange: () => void },
): Functions {
  const pools = definitions.map((definition) =>
    createPool(definition, {
      logFile: join(options.logsFolder, `${definition.name}.log`),
      log: options.log,
      onChange: options.onChange,
    }),
  );
  return {
    find(nameOrArn) {
      const arn = nameOrArn.startsWith('arn:') ? nameOrArn.split(':').slice(0, 7).join(':') : undefined;
      return pools.find(({ definition }) =>
        arn === undefined ? [definition.name, definition.logicalId].includes(nameOrArn) : definition.arn === arn,
      );
    },
    all: () => pools,
    async stop() {
      await Promise.all(pools.map((pool) => pool.stop()));
    },
  };
}
