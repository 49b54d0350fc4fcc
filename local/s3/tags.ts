/** The tags of objects. They last as long as this process: nothing on this machine acts on them, a person may look at them. */
export class Tags {
  readonly #tags = new Map<string, string>();

  /** `tags` as the header `x-amz-tagging` has them, `a=1&b=2`; a new object without any has none. */
  written(object: string, tags: string | undefined): void {
    if (tags === undefined) this.#tags.delete(object);
    else this.#tags.set(object, setOf([...new URLSearchParams(tags)]));
  }

  /** The body of a PutObjectTagging. */
  put(object: string, body: string): void {
    const pairs = [...body.matchAll(/<Tag>\s*<Key>([^<]*)<\/Key>\s*<Value>([^<]*)<\/Value>\s*<\/Tag>/g)];
    this.#tags.set(object, setOf(pairs.map(([, key = '', value = '']) => [key, value])));
  }

  /** The body of an answer to GetObjectTagging. */
  get(object: string): string {
    const set = this.#tags.get(object) ?? setOf([]);
    return `<?xml version="1.0" encoding="UTF-8"?>\n<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${set}</Tagging>`;
  }
}

function setOf(pairs: readonly (readonly [string, string])[]): string {
  const tags = pairs.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`);
  return `<TagSet>${tags.join('')}</TagSet>`;
}
