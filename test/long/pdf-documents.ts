import { type Entry, fixturePath } from './pdf-corpus.ts';

const hebrew = 'שלום עולם, זה משפט עם מספר 2026 ומילה English בתוכו.\nשורה שנייה.\n';
const arabic = 'مرحبا بالعالم، هذه جملة فيها رقم 2026.\nسطر ثان.\n';
const prose = `.TL\nOffice of Efficiency\n.AU\nAnn Author\n.2C\n${'.PP\nAn efficient office offers a first-class difficult floor plan, and the affluent staff shuffle off to find it. '.repeat(60)}\n`;
const latex = String.raw`\documentclass[twocolumn]{article}\begin{document}\title{Columns}\author{A. Uthor}\maketitle ${'The efficient official fluffily afflicts unsophisticated characteristically overcomplicated representations of internationalization. '.repeat(90)}\[ E = mc^2 \]\end{document}`;
const plain = `${'Plain text in two columns, printed by enscript for Ghostscript.\n'.repeat(150)}`;
const html = `<meta charset=utf-8><h1>Tides</h1><p dir=rtl>${hebrew}</p><p dir=rtl>${arabic}</p><table><tr><td>one<td>two</table><p>日本語 fi ffl</p>`;
const scan = 'pdftoppm -r 60 -gray -l 2 -png';

/** Thirty and more documents: what real producers write, and what they write badly. */
export const documents: readonly Entry[] = [
  {
    name: 'TraceMonkey paper',
    source: { npm: 'pdf-parse@1.1.1', file: 'test/data/01-valid.pdf' },
    shows: 'pdfeTeX 1.21, two columns, figures',
    expects: 0.97,
  },
  {
    name: 'Google Docs paper',
    source: { npm: 'pdf-parse@1.1.1', file: 'test/data/02-valid.pdf' },
    shows: 'Google Docs',
    expects: 0.98,
  },
  {
    name: 'invalid',
    source: { npm: 'pdf-parse@1.1.1', file: 'test/data/03-invalid.pdf' },
    shows: 'no PDF any more',
    expects: 'damaged_pdf',
  },
  {
    name: 'brochure',
    source: { npm: 'pdf-parse@1.1.1', file: 'test/data/04-valid.pdf' },
    shows: 'QuarkXPress 7, Distiller 8',
    expects: 0.98,
  },
  {
    name: 'Word',
    source: { npm: 'pdf-parse@1.1.1', file: 'test/data/05-versions-space.pdf' },
    shows: 'Microsoft Word 2016',
    expects: 0.98,
  },
  {
    name: 'old paper',
    source: { npm: 'pdf-to-text@0.0.7', file: 'test/test_data/multipage_searchable.pdf' },
    shows: 'Distiller 4, PDF 1.2, formulas',
    expects: 0.97,
  },
  {
    name: 'bash manual page',
    source: { debian: 'bash-doc', file: 'usr/share/doc/bash/bash.pdf' },
    shows: 'groff, Ghostscript 10',
    expects: 0.98,
    pages: '1-40',
  },
  {
    name: 'bash manual',
    source: { debian: 'bash-doc', file: 'usr/share/doc/bash/bashref.pdf' },
    shows: 'Texinfo, pdfTeX 1.40',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'file hierarchy',
    source: { debian: 'debian-policy', file: 'usr/share/doc/debian-policy/fhs/fhs-3.0.pdf' },
    shows: 'Apache FOP',
    expects: 0.98,
  },
  {
    name: 'Debian policy',
    source: { debian: 'debian-policy', file: 'usr/share/doc/debian-policy/policy.pdf' },
    shows: 'Sphinx, xdvipdfmx',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'Debian reference, Japanese',
    source: { debian: 'debian-reference-ja', file: 'usr/share/debian-reference/debian-reference.ja.pdf' },
    shows: 'DBLaTeX, xdvipdfmx, CJK',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'Debian reference, Chinese',
    source: { debian: 'debian-reference-zh-cn', file: 'usr/share/debian-reference/debian-reference.zh-cn.pdf' },
    shows: 'DBLaTeX, xdvipdfmx, CJK',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'developers reference',
    source: { debian: 'developers-reference-ja', file: 'usr/share/developers-reference/ja/developers-reference.pdf' },
    shows: 'upLaTeX, dvipdfmx, CJK by character map',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'gnuplot manual',
    source: { debian: 'gnuplot-doc', file: 'usr/share/doc/gnuplot/gnuplot.pdf' },
    shows: 'LaTeX with figures',
    expects: 0.98,
    pages: '1-60',
  },
  {
    name: 'asymptote card',
    source: { debian: 'asymptote-doc', file: 'usr/share/doc/asymptote/asyRefCard.pdf' },
    shows: 'TeX, three columns, lying',
    expects: 0.97,
  },
  {
    name: 'printer form, English',
    source: { debian: 'cups-filters', file: 'usr/share/cups/data/form_english.pdf' },
    shows: 'LibreOffice 4, a form',
    expects: 0.98,
  },
  {
    name: 'printer form, Russian',
    source: { debian: 'cups-filters', file: 'usr/share/cups/data/form_russian.pdf' },
    shows: 'LibreOffice 4, a form, Cyrillic',
    expects: 0.98,
  },
  {
    name: 'printer test page',
    source: { debian: 'cups-filters', file: 'usr/share/cups/data/default-testpage.pdf' },
    shows: 'cairo, mostly a picture',
    expects: 0.98,
  },
  {
    name: 'Persian, XeTeX',
    source: { debian: 'texlive-lang-arabic', file: 'usr/share/doc/texlive-doc/latex/texnegar/xepersian-XB.pdf' },
    shows: 'XeTeX, right to left',
    expects: 0.8,
    because: 'pdftotext reads joined letters apart, and this as words',
  },
  {
    name: 'Quran, XeTeX',
    source: { debian: 'texlive-lang-arabic', file: 'usr/share/doc/texlive-doc/latex/quran/quran-test.pdf' },
    shows: 'XeTeX, Arabic with marks',
    expects: 0.75,
    because: 'pdftotext sets vowel signs apart from their words, and leaves out a block',
  },
  {
    name: 'Persian book',
    source: { debian: 'texlive-lang-arabic', file: 'usr/share/doc/texlive-doc/latex/lshort-persian/lshort.pdf' },
    shows: 'xepersian, right to left, formulas',
    expects: 0.9,
    pages: '1-40',
  },
  {
    name: 'Alkalami sample',
    source: { debian: 'texlive-lang-arabic', file: 'usr/share/doc/texlive-doc/fonts/alkalami/AlkalamiSample.pdf' },
    shows: 'an Arabic font sample',
    expects: 0.75,
    because: 'the font does not say what its marks are: read as letters within words that have no spaces between them',
  },
  { name: 'Chromium', source: { fixture: 'chromium.pdf' }, shows: 'Skia, Hebrew and Arabic', expects: 0.98 },
  { name: 'LibreOffice, Hebrew', source: { fixture: 'libreoffice-hebrew.pdf' }, shows: 'LibreOffice 7', expects: 0.98 },
  { name: 'LibreOffice, CJK', source: { fixture: 'libreoffice-cjk.pdf' }, shows: 'LibreOffice 7', expects: 0.98 },
  {
    name: 'ReportLab form',
    source: { fixture: 'reportlab-form.pdf' },
    shows: 'a filled form, slanted text',
    expects: 0.35,
    because: 'pdftotext reads slanted words letter by letter',
  },
  {
    name: 'ReportLab, CJK not embedded',
    source: { fixture: 'reportlab-no-maps.pdf' },
    shows: 'predefined character maps',
    expects: 0.98,
  },
  {
    name: 'groff, two columns',
    source: { shell: 'groff -k -ms -Tpdf in', input: prose },
    shows: 'gropdf, hyphens',
    expects: 0.98,
  },
  {
    name: 'LaTeX, two columns',
    source: { shell: 'pdflatex -interaction=batchmode -jobname=out in >/dev/null', input: latex },
    shows: 'pdfTeX, ligatures, hyphens',
    expects: 0.98,
  },
  {
    name: 'enscript',
    source: { shell: 'enscript -2r -q -p out.ps in && ps2pdf out.ps out.pdf', input: plain },
    shows: 'PostScript in two columns, Ghostscript',
    expects: 0.98,
  },
  {
    name: 'pango, Hebrew',
    source: { shell: 'pango-view --no-display -q --font="DejaVu Sans 14" -o out.pdf in', input: hebrew },
    shows: 'cairo, right to left',
    expects: 0.8,
    because: 'pdftotext sets a letter apart, and a number on the wrong side of its space',
  },
  {
    name: 'pango, Arabic',
    source: { shell: 'pango-view --no-display -q --font="DejaVu Sans 14" -o out.pdf in', input: arabic },
    shows: 'cairo, joined letters',
    expects: 0.75,
    because: 'pdftotext sets a letter apart',
  },
  {
    name: 'wkhtmltopdf',
    source: { shell: 'cp in in.html && wkhtmltopdf -q in.html out.pdf', input: html },
    shows: 'Qt 5, mixed directions',
    expects: 0.9,
  },
  {
    name: 'scan',
    source: { shell: `${scan} ${fixturePath('groff-qpdf.pdf')} p && img2pdf p*.png` },
    shows: 'img2pdf, pictures alone',
    expects: 1,
  },
  {
    name: 'linearized',
    source: { shell: `qpdf --linearize ${fixturePath('chromium.pdf')} out.pdf` },
    shows: 'qpdf',
    expects: 0.98,
  },
  {
    name: 'owner password, RC4',
    source: { shell: `qpdf --allow-weak-crypto --encrypt '' owner 40 -- ${fixturePath('chromium.pdf')} out.pdf` },
    shows: 'encrypted, opens',
    expects: 0.98,
  },
  {
    name: 'owner password, AES 256',
    source: { fixture: 'qpdf-owner-password.pdf' },
    shows: 'encrypted, opens',
    expects: 0.98,
  },
  {
    name: 'user password, AES 128',
    source: { shell: `qpdf --encrypt user owner 128 --use-aes=y -- ${fixturePath('chromium.pdf')} out.pdf` },
    shows: 'encrypted',
    expects: 'encrypted_pdf',
  },
  {
    name: 'user password, AES 256',
    source: { fixture: 'qpdf-user-password.pdf' },
    shows: 'encrypted',
    expects: 'encrypted_pdf',
  },
  {
    name: 'a tenth of it',
    source: { shell: `head -c 2000 ${fixturePath('groff-qpdf.pdf')}` },
    shows: 'cut short',
    expects: 'damaged_pdf',
  },
];
