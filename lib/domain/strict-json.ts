export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type StrictJson =
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'malformed'; readonly reason: string };

const maxDepth = 32;
const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
const words: Readonly<Record<string, JsonValue>> = { true: true, false: false, null: null };

/**
 * Reads JSON (RFC 8259) whose meaning no two readers can disagree on, so that a fingerprint of the value is one of the text's meaning. Refuses what
 * `JSON.parse` lets through: duplicate keys, numbers beyond ±(2^53 − 1), lone surrogates, more than 32 levels. `__proto__` is a key like any other.
 */
export function readStrictJson(text: string): StrictJson {
  try {
    return { kind: 'value', value: new Reader(text).document() };
  } catch (error) {
    if (error instanceof Malformed) return { kind: 'malformed', reason: error.message };
    throw error;
  }
}

class Malformed extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue {
    const value = this.#value(0);
    this.#match(space);
    if (this.#at < this.#text.length) this.#fail('expected the end');
    return value;
  }

  #value(depth: number): JsonValue {
    if (depth > maxDepth) this.#fail(`expected at most ${maxDepth} levels`);
    this.#match(space);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): JsonValue {
    const object: { [key: string]: JsonValue } = {};
    this.#list('}', () => {
      if (this.#text[this.#at] !== '"') this.#fail('expected a key in double quotes');
      const key = this.#string();
      if (Object.hasOwn(object, key)) this.#fail(`the key ${JSON.stringify(key.slice(0, 64))} comes twice`);
      this.#match(space);
      this.#expect(':');
      const value = this.#value(depth + 1);
      // Plain assignment to `__proto__` would set the prototype instead.
      Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
    });
    return object;
  }

  #array(depth: number): JsonValue {
    const array: JsonValue[] = [];
    this.#list(']', () => array.push(this.#value(depth + 1)));
    return array;
  }

  #list(end: string, element: () => void): void {
    this.#at++;
    this.#match(space);
    if (this.#text[this.#at] === end) {
      this.#at++;
      return;
    }
    for (;;) {
      this.#match(space);
      element();
      this.#match(space);
      if (this.#text[this.#at] === end) break;
      this.#expect(',');
    }
    this.#at++;
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    this.#at = end + 1;
    const token = this.#text.slice(start, end + 1);
    let value: unknown;
    try {
      value = JSON.parse(token);
    } catch {
      this.#at = start;
      this.#fail('expected a string without raw control characters and with valid escapes');
    }
    if (typeof value !== 'string') this.#fail('expected a string');
    if (!value.isWellFormed()) this.#fail('a string holds half a surrogate pair');
    return value;
  }

  #scalar(): JsonValue {
    const digits = this.#match(number);
    if (digits !== '') {
      const value = Number(digits);
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
        this.#fail(`the number ${digits.slice(0, 40)} is beyond ±(2^53 − 1)`);
      return value;
    }
    const literal = words[this.#match(word)];
    if (literal === undefined) this.#fail('expected a value');
    return literal;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) this.#fail(`expected ${character}`);
    this.#at++;
  }

  #fail(what: string): never {
    throw new Malformed(`${what} at character ${Math.min(this.#at, this.#text.length)}`);
  }
}
