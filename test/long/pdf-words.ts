/** How much of what one program read another read too, from 0 to 1. */
export type Agreement = {
  /** Words on the same page, as often. */
  readonly words: number;
  /** Words with the same word after them: the order. */
  readonly pairs: number;
  /** Of our words, those that the other has too. */
  readonly ours: number;
  readonly count: number;
};

/** A word is letters and digits; of Chinese, Japanese and Korean each character, as nothing stands between words. */
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{M}\p{N}])+/gu;

/**
 * Compatibility forms are what they stand for (ﬁ is f and i, drawn Arabic letters are letters), a word that a hyphen parts at a line's end is one, and case,
 * what marks a direction (it stands between words), vowel signs and the lengthening of Arabic count for nothing: all of this is taste.
 */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, ' ')
    .replace(/[\p{Cf}\p{M}\u0640]/gu, '')
    .replace(/(\p{L})[-\u2010]\n+(?=\p{Ll})/gu, '$1')
    .toLowerCase();
  return plain.normalize('NFC').match(word) ?? [];
}

/** Page by page; `other` is the measure. */
export function agreement(ours: readonly string[], other: readonly string[]): Agreement {
  const pages = other.map((text, page) => [wordsOf(ours[page] ?? ''), wordsOf(text)] as const);
  const [words, wordsInOther] = sum(pages.map(([mine, theirs]) => common(mine, theirs)));
  const [pairs, pairsInOther] = sum(pages.map(([mine, theirs]) => common(pairsOf(mine), pairsOf(theirs))));
  const [, mine] = sum(pages.map(([mine]) => [0, mine.length]));
  return {
    words: share(words, wordsInOther),
    pairs: share(pairs, pairsInOther),
    ours: share(words, mine),
    count: wordsInOther,
  };
}

function common(mine: readonly string[], theirs: readonly string[]): [number, number] {
  const left = Map.groupBy(mine, (each) => each);
  const found = theirs.filter((each) => left.get(each)?.pop() !== undefined);
  return [found.length, theirs.length];
}

function pairsOf(words: readonly string[]): string[] {
  return words.slice(1).map((next, index) => `${words[index]} ${next}`);
}

function sum(counts: readonly (readonly [number, number])[]): [number, number] {
  return counts.reduce<[number, number]>(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}
