import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { attachment, safeName } from '../../lib/domain/download-name.ts';

test.each([
  ['minutes.pdf', 'minutes.pdf'],
  ['Übersicht 1.pdf', 'Übersicht 1.pdf'],
  ['../../etc/passwd', '_.._etc_passwd'],
  ['C:\\temp\\a.txt', 'C__temp_a.txt'],
  ['a"b\r\nSet-Cookie: x=1', 'a_b__Set-Cookie_ x=1'],
  ['.htaccess', 'htaccess'],
  ['trailing. . ', 'trailing'],
  ['photo\u202Egpj.exe', 'photo_gpj.exe'],
  ['con', '_con'],
  ['NUL.txt', '_NUL.txt'],
  ['console.txt', 'console.txt'],
  ['e\u0301.txt', '\u00e9.txt'],
  ['\ud800.txt', '\ufffd.txt'],
  ['...', ''],
  ['', ''],
  [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(56)}.pdf`],
])('%j is saved as %j', (name, safe) => {
  expect(safeName(name)).toBe(safe);
});

test('a name that leaves nothing is the fallback', () => {
  expect(attachment(undefined, 'id')).toBe("attachment; filename*=UTF-8''id");
  expect(attachment('..', 'id')).toBe("attachment; filename*=UTF-8''id");
});

test('whatever the name, the header is one line of ASCII with one value that decodes to a name without a folder', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string()), (name) => {
      const value = /^attachment; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+)$/.exec(attachment(name, 'id'))?.[1];
      expect(value).toBeDefined();
      expect(decodeURIComponent(value ?? '')).not.toMatch(/[/\\\p{Cc}]/u);
      expect(Buffer.byteLength(decodeURIComponent(value ?? ''))).toBeLessThanOrEqual(255);
    }),
  );
});
