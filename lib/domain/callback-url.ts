import ipaddr from 'ipaddr.js';

/** A URL that may be called. `trusted`: the operator named its origin, so that the rules for addresses do not hold for it. */
export type CallbackUrl =
  | { readonly kind: 'usable'; readonly url: URL; readonly trusted: boolean }
  | { readonly kind: 'refused'; readonly problem: string };

export const longestCallbackUrl = 2_000;
/** Below it are the services of machines: mail, shells, databases of old. */
const lowestPort = 1_024;

/**
 * Judges what can be judged without a look-up: the form of the URL and an address that stands in it in whatever notation, because the parser of
 * `URL` turns `2130706433`, `0x7f.1` and `127.1` into `127.0.0.1` first. What a name resolves to is for `isPublicAddress`, each time it is called.
 */
export function readCallbackUrl(text: string, trustedOrigins: readonly string[]): CallbackUrl {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (url === null) return refused('expected a URL in visible ASCII characters');
  if (Math.max(text.length, url.href.length) > longestCallbackUrl)
    return refused(`expected at most ${longestCallbackUrl} characters`);
  if (url.username !== '' || url.password !== '') return refused('expected no user name or password in it');
  if (text.includes('#')) return refused('expected no fragment: it is never sent');
  if (trustedOrigins.includes(url.origin)) return { kind: 'usable', url, trusted: true };
  if (url.protocol !== 'https:') return refused('expected https');
  if (url.port !== '' && Number(url.port) < lowestPort)
    return refused(`expected port 443 or one from ${lowestPort} on`);
  const host = hostOf(url);
  if (/(^|\.)localhost$/.test(host)) return refused('its host is this machine');
  if (ipaddr.isValid(host) && !isPublicAddress(host)) return refused(notPublic(host));
  return { kind: 'usable', url, trusted: false };
}

/** The host as it is looked up: no brackets around an address, no dots after a name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

export function notPublic(address: string): string {
  return `its address ${address} is not public`;
}

/**
 * True for a global unicast address. An IPv6 address that carries an IPv4 one is as public as that: what looks like `64:ff9b::a00:1` from here may
 * be `10.0.0.1` behind a translator. False for what is no address.
 */
export function isPublicAddress(text: string): boolean {
  const plain = text.includes(':') ? inHex(text) : text;
  if (plain === undefined || !ipaddr.isValid(plain)) return false;
  const address = ipaddr.parse(plain);
  return address instanceof ipaddr.IPv6 ? isPublicIpv6(address) : address.range() === 'unicast';
}

/** Without an IPv4 part, because the library takes `::8.8.8.8` for `::ffff:8.8.8.8`. */
function inHex(ipv6: string): string | undefined {
  return URL.parse(`https://[${ipv6}]`)?.hostname.slice(1, -1);
}

function isPublicIpv6(address: ipaddr.IPv6): boolean {
  const { parts } = address;
  const ipv4 = (at: number, mask = 0) => {
    const [high = 0, low = 0] = parts.slice(at, at + 2).map((part) => part ^ mask);
    return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]).range() === 'unicast';
  };
  switch (address.range()) {
    case 'ipv4Mapped':
      return ipv4(6);
    case 'rfc6052':
      // 64:ff9b:1::/48 is for translators inside one network, whatever it carries.
      return parts[2] === 0 && ipv4(6);
    case '6to4':
      return ipv4(1);
    case 'teredo':
      // The server's address, and the client's with each bit turned.
      return ipv4(2) && ipv4(6, 0xffff);
    case 'unicast':
      // What the library has no name for. Only 2000::/3 is given out; the old IPv4-compatible ::/96 lies outside.
      return (parts[0] ?? 0) >> 13 === 1;
    default:
      return false;
  }
}

function refused(problem: string): CallbackUrl {
  return { kind: 'refused', problem };
}
