/** TeX's fonts without names have ligatures where others have control characters. */
const texLigatures: Readonly<Record<string, string>> = {
  '\x1b': 'ff',
  '\x1c': 'fi',
  '\x1d': 'fl',
  '\x1e': 'ffi',
  '\x1f': 'ffl',
};

/** With TeX's ligatures as letters, without control characters, halves of surrogate pairs and space at the end of lines. */
export function tidy(text: string): string {
  return text
    .replace(/[^\P{Cc}\n\t]/gu, (control) => texLigatures[control] ?? '')
    .toWellFormed()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}
