import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { messageOf, StackError } from './stack-error.ts';
import type { StackIdentity } from './template/scope.ts';
import type { Template } from './template/template.ts';

export type Assembly = {
  template: Template;
  identity: StackIdentity;
  /** The folder of an asset, by its key in the assets bucket. */
  codeFolder(assetKey: string): string | undefined;
};

const localAccount = '000000000000';
const localRegion = 'us-east-1';

const manifestSchema = z.object({
  artifacts: z.record(
    z.string(),
    z.object({
      type: z.string(),
      environment: z.string().optional(),
      properties: z.object({ templateFile: z.string().optional(), stackName: z.string().optional() }).optional(),
    }),
  ),
});
const assetsSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.object({ path: z.string(), packaging: z.string() }),
      destinations: z.record(z.string(), z.object({ objectKey: z.string() })),
    }),
  ),
});
const templateSchema = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) });

/** Reads what `cdk synth` wrote. There must be exactly one stack. */
export function readAssembly(outDir: string): Assembly {
  const manifest = read(join(outDir, 'manifest.json'), manifestSchema);
  const stacks = Object.entries(manifest.artifacts).filter(
    ([, artifact]) => artifact.type === 'aws:cloudformation:stack',
  );
  const [first] = stacks;
  if (first === undefined || stacks.length > 1) {
    throw new StackError(
      `the app must have exactly one stack, it has ${stacks.length}: ${stacks.map(([id]) => id).join(', ')}`,
    );
  }
  const [id, artifact] = first;
  const assets = read(join(outDir, `${id}.assets.json`), assetsSchema);
  const folders = new Map<string, string>();
  for (const { source, destinations } of Object.values(assets.files)) {
    for (const { objectKey } of Object.values(destinations)) folders.set(objectKey, join(outDir, source.path));
  }
  // Where functions run there is no package.json above their code; here the project's would decide what a `.js` file is.
  writeFileSync(join(outDir, 'package.json'), '{}\n');
  const [, region = localRegion] = /^aws:\/\/[^/]+\/(.+)$/.exec(artifact.environment ?? '') ?? [];
  return {
    template: readTemplate(join(outDir, artifact.properties?.templateFile ?? `${id}.template.json`)),
    identity: {
      stackName: artifact.properties?.stackName ?? id,
      accountId: localAccount,
      region: region === 'unknown-region' ? localRegion : region,
    },
    codeFolder: (assetKey) => folders.get(assetKey),
  };
}

function readTemplate(file: string): Template {
  const parsed = readJson(file);
  return isTemplate(parsed) ? parsed : fail(file, 'it has no resources');
}

// The rest of its shape is checked where it is used, resource by resource.
function isTemplate(parsed: unknown): parsed is Template {
  return templateSchema.safeParse(parsed).success;
}

function read<S extends z.ZodType>(file: string, schema: S): z.output<S> {
  const result = schema.safeParse(readJson(file));
  return result.success ? result.data : fail(file, result.error.issues[0]?.message ?? 'not understood');
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    return fail(file, messageOf(error));
  }
}

function fail(file: string, why: string): never {
  throw new StackError(`cannot read ${file}: ${why}`);
}
