import { tidy } from './tidy.ts';

/** Longer entries are cut. */
const maxInfoCharacters = 300;
const textFields = ['Title', 'Author', 'Subject', 'Keywords', 'Creator', 'Producer'] as const;
const dateFields = { created: 'CreationDate', modified: 'ModDate' } as const;
/** `D:20261130052243+01'00'`; all after the year may be missing. */
const dateShape =
  /^(?:D:)?(?<year>\d{4})(?<month>\d\d)?(?<day>\d\d)?(?<hour>\d\d)?(?<minute>\d\d)?(?<second>\d\d)?(?<zone>Z|(?<sign>[+-])(?<zoneHour>\d\d)'?(?<zoneMinute>\d\d)?'?)?/;

/**
 * What a document says of itself: title, author, subject, keywords, creator, producer, `created` and `modified` as ISO 8601 in UTC, and the version of PDF.
 * Leaves out what it does not say, or not in a form that can be read.
 */
export function infoOf(info: Readonly<Record<string, unknown>>): Record<string, string> {
  const short = (value: unknown) =>
    typeof value === 'string' ? tidy(value).slice(0, maxInfoCharacters).toWellFormed() : '';
  const texts = textFields.map((field) => [field.toLowerCase(), short(info[field])]);
  const dates = Object.entries(dateFields).map(([name, field]) => [name, dateOf(short(info[field]))]);
  return Object.fromEntries([...texts, ...dates, ['version', short(info.PDFFormatVersion)]].filter(([, text]) => text));
}

/** `D:20261130052243+01'00'` is `2026-11-30T04:22:43.000Z`; empty when it is no date. A time without a zone is taken as UTC. */
function dateOf(text: string): string {
  const groups = dateShape.exec(text)?.groups;
  if (groups === undefined) return '';
  const { year, month = '01', day = '01', hour = '00', minute = '00', second = '00', sign } = groups;
  const zone = sign === undefined ? 'Z' : `${sign}${groups.zoneHour}:${groups.zoneMinute ?? '00'}`;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
