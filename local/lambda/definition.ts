import * as z from 'zod';
import { localCredentials } from '../clients.ts';
import { unsupported } from '../stack-error.ts';
import { localMetadata } from '../template/local-metadata.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

export type FunctionDefinition = {
  logicalId: string;
  name: string;
  arn: string;
  handler: string;
  /** The folder of its code. */
  taskRoot: string;
  memoryMb: number;
  timeoutMs: number;
  /** What its metadata or else its reserved concurrency says, within what this machine can carry. */
  maxInstances: number;
  /** Everything its process gets to see; nothing of this process's own. */
  environment: Record<string, string>;
};

const usualInstances = 8;
const mostInstances = 20;

const functionSchema = z.object({
  Code: z.object({ S3Key: z.string() }, 'only code from an asset is supported here'),
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs\d/, 'only Node.js runtimes are supported here'),
  MemorySize: z.coerce.number().int().min(128).default(128),
  Timeout: z.coerce.number().min(1).max(900).default(3),
  ReservedConcurrentExecutions: z.coerce.number().int().min(0).optional(),
  Environment: z.object({ Variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])) }).optional(),
  Layers: z.array(z.unknown()).max(0, 'layers are not supported here').optional(),
});

/** Reads the template's functions. `serviceUrls` maps AWS_ENDPOINT_URL_… variables to the local services. */
export function defineFunctions(
  template: Template,
  scope: StackScope,
  codeFolder: (assetKey: string) => string | undefined,
  identity: { region: string },
  serviceUrls: Record<string, string>,
): FunctionDefinition[] {
  return resourcesOfType(template, 'AWS::Lambda::Function').map(({ logicalId, resource }) => {
    const properties = parseProperties(logicalId, functionSchema, scope.properties(logicalId));
    const taskRoot = codeFolder(properties.Code.S3Key);
    if (taskRoot === undefined)
      throw unsupported(logicalId, `its code ${properties.Code.S3Key} is not among the assets`);
    const name = scope.nameOf(logicalId);
    const { instances } = localMetadata(logicalId, resource);
    const variables = Object.entries(properties.Environment?.Variables ?? {}).map(([key, value]) => [
      key,
      String(value),
    ]);
    return {
      logicalId,
      name,
      arn: scope.arnOf(logicalId),
      handler: properties.Handler,
      taskRoot,
      memoryMb: properties.MemorySize,
      timeoutMs: properties.Timeout * 1000,
      maxInstances: Math.min(mostInstances, instances ?? properties.ReservedConcurrentExecutions ?? usualInstances),
      environment: {
        ...machineVariables(),
        TZ: ':UTC',
        LANG: 'en_US.UTF-8',
        AWS_REGION: identity.region,
        AWS_DEFAULT_REGION: identity.region,
        AWS_ACCESS_KEY_ID: localCredentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: localCredentials.secretAccessKey,
        ...serviceUrls,
        ...Object.fromEntries(variables),
        AWS_EXECUTION_ENV: `AWS_Lambda_${properties.Runtime}`,
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(properties.MemorySize),
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
        LAMBDA_TASK_ROOT: taskRoot,
        _HANDLER: properties.Handler,
      },
    };
  });
}

// What a program needs of the machine to run at all.
function machineVariables(): Record<string, string> {
  const names = ['PATH', 'TMPDIR', 'LD_LIBRARY_PATH'];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
