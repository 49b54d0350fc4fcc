/** How a multipart body is laid out, by its delimiters alone: one header block a part, as text of one byte a character. */
export type Outline =
  | { readonly kind: 'parts'; readonly headers: readonly string[] }
  | { readonly kind: 'broken'; readonly reason: string };

const headerEnd = Buffer.from('\r\n\r\n');

/**
 * Finds every part of a body (RFC 2046): the parser passes over parts whose header it does not understand, so that what it makes of a body has to be held
 * against what is there.
 */
export function outline(body: Buffer, boundary: string, maxHeaderBytes: number): Outline {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first delimiter may stand at the very beginning.
  const bytes = Buffer.concat([Buffer.from('\r\n'), body]);
  const headers: string[] = [];
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    const start = at + delimiter.length;
    if (bytes.subarray(start, start + 2).toString('latin1') === '--') return { kind: 'parts', headers };
    // Where that is another part's, the delimiter between them is a line that is no header field.
    const end = bytes.indexOf(headerEnd, start);
    if (end === -1) return { kind: 'broken', reason: 'a part has no end of its header' };
    if (end - start > maxHeaderBytes)
      return { kind: 'broken', reason: `a part's header has more than ${maxHeaderBytes} bytes` };
    headers.push(bytes.subarray(start, end).toString('latin1'));
  }
  return { kind: 'broken', reason: 'it ends before its last boundary' };
}

/** A part's header fields by their names in lower case; undefined where a line is none. */
export function fieldsOf(header: string): ReadonlyMap<string, readonly string[]> | undefined {
  const [padding = '', ...lines] = header.split('\r\n');
  // White space may follow a delimiter on its line.
  if (!/^[ \t]*$/.test(padding)) return undefined;
  const fields = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    fields.set(key, [...(fields.get(key) ?? []), value]);
  }
  return fields;
}

/** The boundary that a Content-Type names. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = /;[ \t]*boundary=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(contentType) ?? [];
  return plain ?? quoted?.replace(/\\(.)/g, '$1');
}
