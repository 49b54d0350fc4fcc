/** Sentences beyond this are not looked at: comparing them all with each other grows with the square. */
const mostSentences = 600;
/** What is longer is no sentence but a table or a dump; it says nothing as part of a summary. */
const longestSentence = 1_000;
const damping = 0.85;
const rounds = 40;
const settled = 1e-5;

/**
 * The sentences that say most of what a text says, in the order of the text. TextRank (Mihalcea and Tarau, 2004, https://aclanthology.org/W04-3252/):
 * sentences are similar by the words they share, over the logarithms of their lengths, and one counts as much as those count that are similar to it.
 * Sentences and words are cut as Unicode says (`Intl.Segmenter`), so that it works for scripts without spaces too. Of equal sentences the first wins.
 */
export function summarize(text: string, count: number, locale?: string): string[] {
  const sentences = sentencesOf(text, locale).slice(0, mostSentences);
  if (sentences.length <= count) return sentences;
  const segmenter = new Intl.Segmenter(locale, { granularity: 'word' });
  const scores = rank(similarities(sentences.map((sentence) => wordsOf(sentence, segmenter, locale))));
  return sentences
    .map((_, index) => index)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    .slice(0, count)
    .sort((a, b) => a - b)
    .map((index) => sentences[index] ?? '');
}

/** Line ends inside a paragraph are none of a sentence; an empty line is. */
function sentencesOf(text: string, locale: string | undefined): string[] {
  const segmenter = new Intl.Segmenter(locale, { granularity: 'sentence' });
  return text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => [...segmenter.segment(paragraph.replace(/\s+/g, ' '))])
    .map(({ segment }) => segment.trim())
    .filter((sentence) => /\p{L}/u.test(sentence) && sentence.length <= longestSentence);
}

function wordsOf(sentence: string, segmenter: Intl.Segmenter, locale: string | undefined): Set<string> {
  const words = [...segmenter.segment(sentence)].filter(({ isWordLike }) => isWordLike);
  return new Set(words.map(({ segment }) => segment.normalize('NFC').toLocaleLowerCase(locale)));
}

function similarities(words: readonly ReadonlySet<string>[]): number[][] {
  const weights = words.map(() => Array<number>(words.length).fill(0));
  for (const [a, ofA] of words.entries()) {
    const listed = [...ofA];
    for (let b = 0; b < a; b++) {
      const ofB = words[b] ?? new Set();
      const common = listed.reduce((sum, word) => sum + (ofB.has(word) ? 1 : 0), 0);
      // Sentences of one word would divide by log 1.
      const weight = common === 0 ? 0 : common / (Math.log(ofA.size + 1) + Math.log(ofB.size + 1));
      (weights[a] as number[])[b] = weight;
      (weights[b] as number[])[a] = weight;
    }
  }
  return weights;
}

function rank(weights: readonly (readonly number[])[]): number[] {
  const sums = weights.map((row) => row.reduce((sum, weight) => sum + weight, 0));
  let scores = weights.map(() => 1);
  for (let round = 0; round < rounds; round++) {
    const shares = scores.map((score, index) => ((sums[index] ?? 0) > 0 ? score / (sums[index] as number) : 0));
    const next = weights.map(
      (row) => 1 - damping + damping * row.reduce((sum, weight, index) => sum + weight * (shares[index] ?? 0), 0),
    );
    const change = Math.max(...next.map((score, index) => Math.abs(score - (scores[index] ?? 0))));
    scores = next;
    if (change < settled) break;
  }
  return scores;
}
