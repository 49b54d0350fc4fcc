import { createHash } from 'node:crypto';
import type * as z from 'zod';

export type Argument = string | number | Buffer;

/** A Lua script with its contract: how its input becomes KEYS and ARGV, and the only replies it may give. */
export type Script<Input, Reply> = {
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
  /** Run at most once: after a lost reply it is not known whether it ran. Others are sent again, because twice has the effect of once. */
  readonly once: boolean;
  /** It answers in bytes, not in text. */
  readonly packed: boolean;
  keys(input: Input): readonly string[];
  args(input: Input): readonly Argument[];
  reply(raw: unknown, input: Input): Reply;
};

export function defineScript<Input, Raw, Reply>(definition: {
  name: string;
  source: string;
  once?: boolean;
  packed?: boolean;
  keys(input: Input): readonly string[];
  args(input: Input): readonly Argument[];
  /** The shape Redis answers in; anything else is a bug and throws. */
  schema: Pick<z.ZodType<Raw>, 'parse'>;
  read(raw: Raw, input: Input): Reply;
}): Script<Input, Reply> {
  return {
    name: definition.name,
    source: definition.source,
    sha1: createHash('sha1').update(definition.source).digest('hex'),
    once: definition.once ?? false,
    packed: definition.packed ?? false,
    keys: definition.keys,
    args: definition.args,
    reply: (raw, input) => definition.read(definition.schema.parse(raw), input),
  };
}
