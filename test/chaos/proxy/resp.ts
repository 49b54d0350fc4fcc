/** A value of the Redis protocol (versions 2 and 3); maps are flat lists, errors are `Error`s. */
export type RespValue = string | number | null | Error | RespValue[];

/** `raw`: its bytes as they came. `isPush`: the server sent it unasked, so it answers no command. */
export type Frame = { readonly raw: Buffer; readonly value: RespValue; readonly isPush: boolean };

type Read = { value: RespValue; end: number };

const lineEnd = Buffer.from('\r\n');
const longestBytes = 64_000_000;

/** Cuts a stream of bytes into whole values. Throws on bytes that are no Redis protocol. */
export class RespReader {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#rest.length > longestBytes) throw new Error(`more than ${longestBytes} bytes without an end`);
    const frames: Frame[] = [];
    let at = 0;
    for (;;) {
      const read = readValue(this.#rest, at);
      if (read === undefined) break;
      frames.push({
        raw: this.#rest.subarray(at, read.end),
        value: read.value,
        isPush: this.#rest[at] === 0x3e,
      });
      at = read.end;
    }
    this.#rest = this.#rest.subarray(at);
    return frames;
  }
}

/** Undefined: it is not all there yet. */
function readValue(bytes: Buffer, at: number): Read | undefined {
  const end = bytes.indexOf(lineEnd, at);
  if (end < 0) return undefined;
  const type = String.fromCharCode(bytes[at] ?? 0);
  const text = bytes.toString('utf8', at + 1, end);
  const next = end + lineEnd.length;
  switch (type) {
    case '+':
    case ',':
    case '(':
    case '#':
      return { value: text, end: next };
    case '-':
      return { value: new Error(text), end: next };
    case ':':
      return { value: Number(text), end: next };
    case '_':
      return { value: null, end: next };
    case '$':
    case '=':
    case '!':
      return readBulk(bytes, next, Number(text));
    case '*':
    case '~':
    case '>':
      return readList(bytes, next, Number(text));
    case '%':
      return readList(bytes, next, 2 * Number(text));
    case '|': {
      const attributes = readList(bytes, next, 2 * Number(text));
      return attributes && readValue(bytes, attributes.end);
    }
    default:
      throw new Error(`expected a type of the Redis protocol, got ${JSON.stringify(type)}`);
  }
}

function readBulk(bytes: Buffer, at: number, length: number): Read | undefined {
  if (length < 0) return { value: null, end: at };
  const end = at + length + lineEnd.length;
  return end > bytes.length ? undefined : { value: bytes.toString('utf8', at, at + length), end };
}

function readList(bytes: Buffer, at: number, length: number): Read | undefined {
  if (length < 0) return { value: null, end: at };
  const value: RespValue[] = [];
  let end = at;
  for (let index = 0; index < length; index++) {
    const read = readValue(bytes, end);
    if (read === undefined) return undefined;
    value.push(read.value);
    end = read.end;
  }
  return { value, end };
}
