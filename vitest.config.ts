import { defineConfig } from 'vitest/config';

/** `unit` needs no service; `service` shares one redis-server, DynamoDB Local, SQS and S3; the others start what they need, `chaos` a whole stack. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{domain,http,config,protocol}/**/*.test.ts', 'test/chaos/check.test.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Loading the CDK takes longer than the tests: once is enough.
          isolate: false,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'service',
          include: ['test/{adapters,heart,operations,race,tasks,walk}/**/*.test.ts'],
          globalSetup: 'test/support/servers.ts',
          // Far above what they take: a machine under load is no failure.
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
      // Minutes each, so only where it is asked for: `npm run test:long`.
      ...(process.env.WEIR_TEST_LONG === undefined
        ? []
        : [
            {
              test: {
                name: 'long',
                include: ['test/long/**/*.test.ts'],
                globalSetup: 'test/support/servers.ts',
                // Some weigh themselves against another program: nothing runs beside them.
                fileParallelism: false,
              },
            },
          ]),
      { test: { name: 'local', include: ['test/local/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 90_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // After the others: a stack that is struck under load takes the whole machine, and they have deadlines.
        test: {
          name: 'chaos',
          include: ['test/chaos/chaos.test.ts'],
          testTimeout: 240_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
