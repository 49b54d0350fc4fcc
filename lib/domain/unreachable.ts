/** Ends a `switch` over a tagged union: a new kind that nobody handles breaks the build here. */
export function unreachable(value: never): never {
  throw new Error(`unexpected kind: ${JSON.stringify(value)}`);
}
