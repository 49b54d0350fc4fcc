/** In code points; four bytes each fit the 255 bytes of a file name with its percent signs aside. */
const longest = 60;
/** No file system of today takes them in a name, or a shell or a browser reads more into them. */
const unsafe = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}/\\:*?"<>|]/gu;
/** Devices of Windows, with any extension. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/**
 * The header `Content-Disposition` of a download (RFC 6266, RFC 8187), for a name that is any text. The name never leaves its folder, hides nothing behind
 * control characters, and cannot end the header: `../a"b\r\n€.pdf` is `attachment; filename*=UTF-8''_a_b__%E2%82%AC.pdf`.
 */
export function attachment(name: string | undefined, fallback: string): string {
  return `attachment; filename*=UTF-8''${encode(safeName(name ?? '') || fallback)}`;
}

/** The same name without what is not safe in one; the extension stays. Empty where nothing is left. */
export function safeName(name: string): string {
  const clean = name
    .toWellFormed()
    .normalize('NFC')
    .replace(unsafe, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '')
    .replace(device, '_$&');
  const points = [...clean];
  if (points.length <= longest) return clean;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(clean)?.[0] ?? '';
  return points.slice(0, longest - extension.length).join('') + extension;
}

/** `encodeURIComponent` leaves four characters that RFC 8187 does not have. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}
