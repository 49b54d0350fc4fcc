import * as z from 'zod';
import { unsupported } from '../stack-error.ts';
import { type Resource, resourcesOfType, type Template } from './template.ts';

const schema = z.strictObject({
  /** Of a generated secret: the variable of the runner's environment that gives its value. */
  environmentVariable: z.string().min(1).optional(),
  /** Of a generated secret: print its value when the stack is ready, under this label. */
  print: z.string().min(1).optional(),
  /** Of a function: how many instances it has at most. */
  instances: z.int().min(1).optional(),
});

/** What a resource's `Metadata.local` asks of this runner; a deployment ignores it. */
export function localMetadata(logicalId: string, { Metadata }: Resource): z.output<typeof schema> {
  const parsed = schema.safeParse(Metadata?.local ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unsupported(logicalId, `Metadata.local: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`);
}

/** The variables that give secrets their values when the stack runs: none of what a synthesis reads. */
export function secretVariables(template: Template): string[] {
  return resourcesOfType(template, 'AWS::SecretsManager::Secret').flatMap(({ logicalId, resource }) => {
    const { environmentVariable } = localMetadata(logicalId, resource);
    return environmentVariable === undefined ? [] : [environmentVariable];
  });
}
