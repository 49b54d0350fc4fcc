import type * as z from 'zod';
import { unsupported } from '../stack-error.ts';

/** A value in a template, before or after its intrinsic functions are resolved. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

export type Resource = {
  Type: string;
  Properties?: { [key: string]: Value };
  Metadata?: { [key: string]: Value };
};

export type Template = {
  Resources: { [logicalId: string]: Resource };
  Outputs?: { [name: string]: { Description?: string; Value: Value } };
  Parameters?: { [name: string]: { Default?: Value } };
};

export function resourcesOfType(template: Template, ...types: string[]): { logicalId: string; resource: Resource }[] {
  return Object.entries(template.Resources)
    .filter(([, resource]) => types.includes(resource.Type))
    .map(([logicalId, resource]) => ({ logicalId, resource }));
}

/** Checks resolved properties against what is honoured; names the resource and the property in its complaint. */
export function parseProperties<S extends z.ZodType>(logicalId: string, schema: S, properties: Value): z.output<S> {
  const result = schema.safeParse(properties);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw unsupported(logicalId, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`);
}
