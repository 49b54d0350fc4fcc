import * as z from 'zod';

/** What a policy says of one call: an explicit deny wins over every allow, and what no statement allows is denied. */
export type Ruling = 'allowed' | 'denied';

const texts = z.union([z.string(), z.array(z.string())]).transform((given) => [given].flat());
const statement = z.strictObject(
  { Sid: z.string().optional(), Effect: z.enum(['Allow', 'Deny']), Action: texts, Resource: texts },
  'expected statements of Effect, Action and Resource; conditions and Not… are not supported here',
);

/** The policy an authorizer returns. */
export const policySchema = z.object({
  Version: z.string().optional(),
  Statement: z.union([statement, z.array(statement)]).transform((given) => [given].flat()),
});
export type Policy = z.output<typeof policySchema>;

const invoke = 'execute-api:invoke';

/** Judges a call by its ARN, `arn:aws:execute-api:<region>:<account>:<api>/<stage>/<method>/<path>`. `*` is any text, slashes too, `?` one character. */
export function judge(policy: Policy, methodArn: string): Ruling {
  const fitting = policy.Statement.filter(
    ({ Action, Resource }) =>
      Action.some((pattern) => fits(pattern.toLowerCase(), invoke)) &&
      Resource.some((pattern) => fits(pattern, methodArn)),
  );
  if (fitting.some(({ Effect }) => Effect === 'Deny')) return 'denied';
  return fitting.length > 0 ? 'allowed' : 'denied';
}

function fits(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
