import { describe, expect, test } from 'vitest';
import { httpWebhooks, type Resolve } from '../../../lib/adapters/webhook/webhooks.ts';
import { makeCertificate, openReceiver } from '../../support/receiver.ts';

const request = { headers: { 'webhook-id': 'a', 'content-type': 'application/json' }, body: Buffer.from('{"a":1}') };
const here: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
const nobody: Resolve = () => Promise.reject(new Error('a name was looked up'));

function trusting(origin: string, over: { resolve?: Resolve; ca?: string; deadlineMs?: number } = {}) {
  return httpWebhooks({ trustedOrigins: [origin], resolve: nobody, ...over });
}

describe('the addresses of a name are judged before anything is sent', () => {
  test.each([
    [['10.0.0.1'], '10.0.0.1'],
    [['127.0.0.1'], '127.0.0.1'],
    [['169.254.169.254'], '169.254.169.254'],
    [['8.8.8.8', '10.0.0.1'], '10.0.0.1'],
    [['2606:4700::1111', 'fd00::1'], 'fd00::1'],
    [['8.8.8.8', '::1'], '::1'],
    [['::ffff:127.0.0.1'], '::ffff:127.0.0.1'],
    [['64:ff9b::a9fe:a9fe'], '64:ff9b::a9fe:a9fe'],
    [['2002:7f00:1::'], '2002:7f00:1::'],
  ])('%j is refused', async (addresses, hidden) => {
    const resolve: Resolve = async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const webhooks = httpWebhooks({ trustedOrigins: ['https://other.test'], resolve });
    const problem = `its address ${hidden} is not public`;
    expect(await webhooks.post('https://hooks.test/', request)).toEqual({ kind: 'refused', problem });
  });

  test('the rules for URLs hold at each delivery, and a name is looked up without the dot after it', async () => {
    const webhooks = httpWebhooks({ trustedOrigins: [], resolve: nobody });
    for (const [url, problem] of [
      ['http://hooks.test/', 'expected https'],
      ['https://0x7f.1/', 'its address 127.0.0.1 is not public'],
      ['https://localhost/', 'its host is this machine'],
    ] as const) {
      expect(await webhooks.post(url, request)).toEqual({ kind: 'refused', problem });
    }
    const asked: string[] = [];
    const resolve: Resolve = async (name) => {
      asked.push(name);
      return [{ address: '10.0.0.1', family: 4 }];
    };
    await httpWebhooks({ trustedOrigins: [], resolve }).post('https://Hooks.test./', request);
    expect(asked).toEqual(['hooks.test']);
  });

  test('the connection goes to the addresses that were judged: a name that resolves differently later gains nothing', async () => {
    const receiver = await openReceiver();
    const answers = ['127.0.0.1', '127.0.0.9'];
    let asked = 0;
    const resolve: Resolve = async () => [{ address: answers[asked++] ?? '127.0.0.9', family: 4 }];
    const origin = `http://hooks.test:${receiver.port}`;
    expect(await trusting(origin, { resolve }).post(origin, request)).toMatchObject({ kind: 'answered', status: 204 });
    expect(asked).toBe(1);
    expect(receiver.calls[0]?.headers.host).toBe(`hooks.test:${receiver.port}`);
  });

  test('another of the judged addresses is tried where one refuses', async () => {
    const receiver = await openReceiver();
    const resolve: Resolve = async () => [
      { address: '127.0.0.9', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    const origin = `http://hooks.test:${receiver.port}`;
    expect(await trusting(origin, { resolve }).post(origin, request)).toMatchObject({ status: 204 });
  });
});

describe('TLS', () => {
  const certificate = makeCertificate('hooks.test');

  test('asks for the certificate of the host, though it connects to an address', async () => {
    const receiver = await openReceiver(undefined, certificate);
    for (const host of ['hooks.test', 'hooks.test.']) {
      const origin = `https://${host}:${receiver.port}`;
      const webhooks = trusting(origin, { resolve: here, ca: certificate.cert });
      expect(await webhooks.post(origin, request)).toMatchObject({ kind: 'answered', status: 204 });
    }
    expect(receiver.names).toEqual(['hooks.test', 'hooks.test']);
  });

  test.each([
    ['for another name', 'https://other.test', certificate.cert, 'its certificate is for another name'],
    ['for a name, reached by address', 'https://127.0.0.1', certificate.cert, 'its certificate is for another name'],
    ['nobody vouches for', 'https://hooks.test', undefined, 'its certificate is not trusted'],
  ])('a certificate %s is none', async (_what, host, ca, problem) => {
    const receiver = await openReceiver(undefined, certificate);
    const origin = `${host}:${receiver.port}`;
    const webhooks = trusting(origin, { resolve: here, ...(ca === undefined ? {} : { ca }) });
    expect(await webhooks.post(origin, request)).toEqual({ kind: 'failed', problem });
    expect(receiver.calls).toEqual([]);
  });

  test('a server without TLS is no receiver', async () => {
    const receiver = await openReceiver();
    const origin = `https://hooks.test:${receiver.port}`;
    const posted = await trusting(origin, { resolve: here }).post(origin, request);
    expect(posted).toMatchObject({ kind: 'failed', problem: expect.stringMatching(/^no connection \([A-Z0-9_]+\)$/) });
  });
});
