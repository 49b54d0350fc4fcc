import type { LookupAddress } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { hostOf } from '../../domain/callback-url.ts';
import { second } from '../../domain/time.ts';
import type { WebhookRequest } from '../../domain/webhook.ts';

export type Addresses = readonly [LookupAddress, ...LookupAddress[]];
export type Answered = { readonly status: number; readonly retryAfterMs: number | undefined };

/**
 * Posts to one of `addresses`, over a connection of its own, and answers the head of what comes back; the connection is closed then, whatever follows.
 * TLS asks for the certificate of the URL's host. Rejects when there is no answer.
 */
export function postTo(
  url: URL,
  addresses: Addresses,
  { headers, body, signal, ca }: WebhookRequest & { readonly signal: AbortSignal; readonly ca?: string | undefined },
): Promise<Answered> {
  const secure = url.protocol === 'https:';
  const host = hostOf(url);
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
      agent: false,
      lookup: answering(addresses),
      signal,
      ...(secure ? { servername: isIP(host) === 0 ? host : '' } : {}),
      ...(ca === undefined ? {} : { ca }),
    });
    // The end that is made below is reported too, after the answer.
    request.on('error', reject);
    const read = (response: IncomingMessage) => {
      response.on('error', () => undefined);
      resolve({ status: response.statusCode ?? 0, retryAfterMs: retryAfterMs(response.headers['retry-after']) });
      request.destroy();
    };
    request.once('response', read);
    // An answer of 101 is one to a question nobody asked, and comes by another event.
    request.once('upgrade', read);
    request.end(body);
  });
}

/** Answers every look-up with the addresses that were judged. */
function answering(addresses: Addresses): LookupFunction {
  return (_name, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  };
}

/** Seconds or a date; undefined where it is neither, or over. */
function retryAfterMs(header: string | undefined): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * second : Date.parse(text) - Date.now();
  return ms > 0 ? ms : undefined;
}
