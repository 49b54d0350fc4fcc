import { readFileSync } from 'node:fs';
import { create, type Font } from 'fontkit';
import { withMemory } from './font-memory.ts';

/** How letters are to look. */
export type Face = 'regular' | 'bold' | 'italic' | 'boldItalic' | 'mono';

/** A font file that was opened. */
export type OpenFont = {
  readonly name: string;
  readonly font: Font;
  has(codePoint: number): boolean;
  /** Of letters that are one point high. */
  widthOf(text: string): number;
};

/** Letters and the font that has all of them. */
export type FontRun = { readonly font: OpenFont; readonly text: string };

/** Chooses fonts for one text, and counts what none of them has. */
export type Fonts = {
  runsOf(text: string, face: Face): FontRun[];
  readonly replaced: number;
};

/** Stands where a character has no font. */
export const replacement = '\ufffd';

/** DejaVu for Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian, Georgian, signs and frames; Noto for Chinese, Japanese and Korean. */
const files = {
  regular: new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans.ttf', import.meta.url),
  bold: new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf', import.meta.url),
  italic: new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans-Oblique.ttf', import.meta.url),
  boldItalic: new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans-BoldOblique.ttf', import.meta.url),
  mono: new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf', import.meta.url),
  chinese: new URL('../../node_modules/@embedpdf/fonts-sc/fonts/NotoSansHans-Regular.otf', import.meta.url),
  japanese: new URL('../../node_modules/@embedpdf/fonts-jp/fonts/NotoSansJP-Regular.otf', import.meta.url),
  korean: new URL('../../node_modules/@embedpdf/fonts-kr/fonts/NotoSansKR-Regular.otf', import.meta.url),
} as const;
type FontName = keyof typeof files;

/** Nothing is to be seen of these, though fonts may have something to show. Joiners are kept: they say how the letters beside them look. */
const invisible = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/gu;
const joiners = /[\u200c\u200d]/g;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Fonts for `text`, each opened when a letter first needs it. What the face lacks is taken from the upright face, then from Noto; a Chinese character has its
 * Japanese form when the text has kana anywhere, its Korean form when it has hangul.
 */
export function openFonts(text: string): Fonts {
  const opened = new Map<FontName, OpenFont>();
  const open = (name: FontName) => {
    const font = opened.get(name) ?? openFile(name);
    opened.set(name, font);
    return font;
  };
  const eastern = easternFonts(text);
  let replaced = 0;
  const fontOf = (letter: string, face: Face): FontRun => {
    const name = chainOf(face, eastern).find((each) => hasAll(open(each), letter));
    if (name !== undefined) return { font: open(name), text: letter };
    const seen = letter.replace(joiners, '');
    if (seen !== letter) return seen === '' ? { font: open(face), text: '' } : fontOf(seen, face);
    replaced++;
    return { font: open('regular'), text: replacement };
  };
  return {
    runsOf(whole, face) {
      const text = whole.replace(invisible, '');
      if (text === '') return [];
      if (hasAll(open(face), text)) return [{ font: open(face), text }];
      return joined(Array.from(graphemes.segment(text), ({ segment }) => fontOf(segment, face)));
    },
    get replaced() {
      return replaced;
    },
  };
}

function openFile(name: FontName): OpenFont {
  const file = create(readFileSync(files[name])) as Font;
  const characters = new Set(file.characterSet);
  const { font, layout } = withMemory(file);
  return {
    name,
    font,
    has: (codePoint) => characters.has(codePoint),
    widthOf: (text) => layout(text).advanceWidth / font.unitsPerEm,
  };
}

function easternFonts(text: string): FontName[] {
  if (/[\u3041-\u30ff]/.test(text)) return ['japanese', 'chinese', 'korean'];
  if (/[\uac00-\ud7a3]/.test(text)) return ['korean', 'chinese', 'japanese'];
  return ['chinese', 'japanese', 'korean'];
}

function chainOf(face: Face, eastern: readonly FontName[]): FontName[] {
  const upright: FontName[] = face === 'boldItalic' ? ['bold', 'regular'] : ['regular'];
  return [face, ...upright, ...eastern];
}

function hasAll({ has }: OpenFont, text: string): boolean {
  for (const letter of text) if (!has(letter.codePointAt(0) ?? 0)) return false;
  return true;
}

function joined(runs: readonly FontRun[]): FontRun[] {
  const whole: FontRun[] = [];
  for (const run of runs) {
    const before = whole.at(-1);
    if (before?.font === run.font) whole[whole.length - 1] = { font: run.font, text: before.text + run.text };
    else if (run.text !== '') whole.push(run);
  }
  return whole;
}
