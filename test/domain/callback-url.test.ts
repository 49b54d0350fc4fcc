import { describe, expect, test } from 'vitest';
import { hostOf, isPublicAddress, readCallbackUrl } from '../../lib/domain/callback-url.ts';

const trusted = ['http://127.0.0.1:4000', 'https://hooks.internal'];

describe('a URL that may be called', () => {
  test.each([
    ['https://example.com/hook?a=1', 'https://example.com/hook?a=1'],
    ['https://example.com', 'https://example.com/'],
    ['HTTPS://Example.COM:443/', 'https://example.com/'],
    ['https://example.com:1024/', 'https://example.com:1024/'],
    ['https://example.com:8443/', 'https://example.com:8443/'],
    ['https://example.com./', 'https://example.com./'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://134744072/', 'https://8.8.8.8/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['https://notlocalhost/', 'https://notlocalhost/'],
    [`https://example.com/${'a'.repeat(1_980)}`, `https://example.com/${'a'.repeat(1_980)}`],
  ])('%s', (text, href) => {
    const read = readCallbackUrl(text, trusted);
    expect(read).toMatchObject({ kind: 'usable', trusted: false });
    expect(read.kind === 'usable' && read.url.href).toBe(href);
  });
});

describe('the origins an operator trusts may be called over http, whatever their address is, and no other origin', () => {
  test.each([
    ['http://127.0.0.1:4000/hook', true],
    ['http://2130706433:4000/', true],
    ['https://hooks.internal/a', true],
    ['https://hooks.internal:8443/', false],
  ])('%s: %s', (text, isTrusted) => {
    expect(readCallbackUrl(text, trusted)).toMatchObject({ kind: 'usable', trusted: isTrusted });
  });

  test.each([
    ['http://127.0.0.1:4001/', 'expected https'],
    ['https://127.0.0.1:4000/', 'its address 127.0.0.1 is not public'],
    ['http://127.0.0.1.nip.io:4000/', 'expected https'],
    ['http://u@127.0.0.1:4000/', 'expected no user name or password in it'],
  ])('%s is refused: %s', (text, problem) => {
    expect(readCallbackUrl(text, trusted)).toEqual({ kind: 'refused', problem });
  });
});

const form = 'expected a URL in visible ASCII characters';
const loopback = 'its address 127.0.0.1 is not public';
const thisMachine = 'its host is this machine';

describe('a URL that may not be called', () => {
  test.each([
    ['', form],
    ['example.com/hook', form],
    ['/hook', form],
    ['https://', form],
    ['https://exa mple.com/', form],
    [' https://example.com/', form],
    ['https://example.com/\n', form],
    ['https://ex\tample.com/', form],
    ['https://exämple.com/', form],
    ['https://example.com:99999/', form],
    ['https://[::1', form],
    ['https://1.2.3.256/', form],
    [`https://example.com/${'a'.repeat(1_981)}`, 'expected at most 2000 characters'],
    [`https://example.com/${'"'.repeat(700)}`, 'expected at most 2000 characters'],
    ['http://example.com/', 'expected https'],
    ['ftp://example.com/', 'expected https'],
    ['file:///etc/passwd', 'expected https'],
    ['javascript:alert(1)', 'expected https'],
    ['https://user@example.com/', 'expected no user name or password in it'],
    ['https://user:secret@example.com/', 'expected no user name or password in it'],
    ['https://example.com#@10.0.0.1/', 'expected no fragment: it is never sent'],
    ['https://example.com/#', 'expected no fragment: it is never sent'],
    ['https://example.com:22/', 'expected port 443 or one from 1024 on'],
    ['https://example.com:80/', 'expected port 443 or one from 1024 on'],
    ['https://example.com:0/', 'expected port 443 or one from 1024 on'],
    ['https://example.com:1023/', 'expected port 443 or one from 1024 on'],
    ['https://localhost/', thisMachine],
    ['https://LOCALHOST:8443/', thisMachine],
    ['https://localhost./', thisMachine],
    ['https://localhost../', thisMachine],
    ['https://a.localhost/', thisMachine],
    ['https://%6cocalhost/', thisMachine],
    ['https://127.0.0.1/', loopback],
    ['https://127.0.0.1./', loopback],
    ['https://127.1/', loopback],
    ['https://127.0.1/', loopback],
    ['https://2130706433/', loopback],
    ['https://0x7f000001/', loopback],
    ['https://0x7f.1/', loopback],
    ['https://0x7F.0.0.0x1/', loopback],
    ['https://0177.0.0.1/', loopback],
    ['https://017700000001/', loopback],
    ['https:127.0.0.1/', loopback],
    ['https:\\\\127.0.0.1\\', loopback],
    ['https://%31%32%37.0.0.1/', loopback],
    ['https://0/', 'its address 0.0.0.0 is not public'],
    ['https://10.0.0.1/', 'its address 10.0.0.1 is not public'],
    ['https://169.254.169.254/latest/meta-data/', 'its address 169.254.169.254 is not public'],
    ['https://[::1]/', 'its address ::1 is not public'],
    ['https://[::]/', 'its address :: is not public'],
    ['https://[::ffff:127.0.0.1]/', 'its address ::ffff:7f00:1 is not public'],
    ['https://[::ffff:7f00:1]:8443/', 'its address ::ffff:7f00:1 is not public'],
    ['https://[0:0:0:0:0:ffff:a9fe:a9fe]/', 'its address ::ffff:a9fe:a9fe is not public'],
    ['https://[::127.0.0.1]/', 'its address ::7f00:1 is not public'],
    ['https://[64:ff9b::10.0.0.1]/', 'its address 64:ff9b::a00:1 is not public'],
    ['https://[fe80::1%25eth0]/', form],
    ['https://[fd00:ec2::254]/', 'its address fd00:ec2::254 is not public'],
  ])('%j: %s', (text, problem) => {
    expect(readCallbackUrl(text, [])).toEqual({ kind: 'refused', problem });
  });
});

describe('an address is public', () => {
  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '3ffe::1',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '2001:0:808:808:0:0:f7f7:f7f7',
  ])('%s', (address) => expect(isPublicAddress(address)).toBe(true));
});

describe('an address is not public', () => {
  test.each([
    ['this network', ['0.0.0.0', '0.255.255.255']],
    ['private use', ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255']],
    ['carrier NAT', ['100.64.0.0', '100.127.255.255']],
    ['loopback', ['127.0.0.0', '127.255.255.255']],
    ['link-local, and with it metadata', ['169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255']],
    ['protocol assignments', ['192.0.0.0', '192.0.0.170', '192.0.0.255']],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1']],
    ['AS112 and AMT', ['192.31.196.1', '192.52.193.1', '192.175.48.1']],
    ['the old 6to4 relay', ['192.88.99.1']],
    ['benchmarking', ['198.18.0.0', '198.19.255.255']],
    ['multicast', ['224.0.0.1', '239.255.255.255']],
    ['reserved', ['240.0.0.1', '255.255.255.254']],
    ['broadcast', ['255.255.255.255']],
    ['unspecified and loopback', ['::', '::1']],
    ['IPv4-compatible, whatever it carries', ['::7f00:1', '::10.0.0.1', '::8.8.8.8']],
    ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:0:0']],
    ['IPv4-translated, whatever it carries', ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8']],
    ['NAT64', ['64:ff9b::10.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b::169.254.169.254']],
    ['NAT64 inside one network, whatever it carries', ['64:ff9b:1::10.0.0.1', '64:ff9b:1::8.8.8.8', '64:ff9b:1:a::1']],
    ['6to4', ['2002:7f00:1::1', '2002:a00:1::', '2002:a9fe:a9fe::1', '2002:c0a8:101::1']],
    [
      'Teredo: the server, the client, or both',
      ['2001:0:7f00:1:0:0:f7f7:f7f7', '2001:0:808:808:0:0:80ff:fffe', '2001:0:a00:1:0:0:f5ff:fffe', '2001::1'],
    ],
    ['discard', ['100::1']],
    ['documentation', ['2001:db8::1', '3fff::1']],
    [
      'protocol assignments',
      ['2001:1::1', '2001:2::1', '2001:3::1', '2001:4:112::1', '2001:10::1', '2001:20::1', '2001:30::1'],
    ],
    ['AS112', ['2620:4f:8000::1']],
    ['segment routing', ['5f00::1']],
    ['not given out', ['1000::1', '4000::1', '8000::1', 'e000::1']],
    ['unique local', ['fc00::1', 'fd00:ec2::254', 'fdff::1']],
    ['link-local', ['fe80::1', 'febf::1', 'fe80::1%eth0']],
    ['site-local', ['fec0::1', 'feff::1']],
    ['multicast', ['ff02::1', 'ff0e::1']],
    ['no address', ['', 'example.com', '8.8.8.8/24', '256.1.1.1', ':::']],
  ])('%s: %j', (_what, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});

test.each([
  ['https://[2606:4700::1]:8443/', '2606:4700::1'],
  ['https://Example.com./', 'example.com'],
  ['https://8.8.8.8/', '8.8.8.8'],
])('the host of %s is looked up as %s', (text, host) => {
  expect(hostOf(new URL(text))).toBe(host);
});
