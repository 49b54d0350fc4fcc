/** Ends a `switch` over a tagged union: a new kind that nobody handles breaks the build here. Names the kind alone, because a value may hold a client's content. */
export function unreachable(value: never): never {
  throw new Error(`unexpected kind: ${String((value as { kind?: unknown } | undefined)?.kind ?? typeof value)}`);
}
