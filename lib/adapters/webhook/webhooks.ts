import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { hostOf, isPublicAddress, notPublic, readCallbackUrl } from '../../domain/callback-url.ts';
import { deliveryDeadlineMs } from '../../domain/delivery-schedule.ts';
import type { WebhookRequest } from '../../domain/webhook.ts';
import type { Posted, Webhooks } from '../../ports.ts';
import { type Addresses, postTo } from './post-to.ts';
import { noAnswer, problemOf } from './problem.ts';

/** Every address a name has, of both families. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

export type WebhookOptions = {
  readonly trustedOrigins: readonly string[];
  readonly resolve?: Resolve;
  /** Certificates to trust instead of the well-known ones. */
  readonly ca?: string;
  /** For all of one post. */
  readonly deadlineMs?: number;
};

const resolveAll: Resolve = (name) => dns.lookup(name, { all: true });

/**
 * HTTPS behind the `Webhooks` port. The URL is judged again at each post; its name is resolved here, once, and the connection goes to the very
 * addresses that were judged, so that a name which resolves differently a moment later gains nothing. No redirect is followed, no body is read, and no
 * connection is used twice.
 */
export function httpWebhooks({
  trustedOrigins,
  resolve = resolveAll,
  ca,
  deadlineMs = deliveryDeadlineMs,
}: WebhookOptions): Webhooks {
  async function attempt(text: string, request: WebhookRequest, signal: AbortSignal): Promise<Posted> {
    const callback = readCallbackUrl(text, trustedOrigins);
    if (callback.kind === 'refused') return callback;
    const { url, trusted } = callback;
    const addresses = await addressesOf(hostOf(url));
    const hidden = trusted ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
    if (hidden !== undefined) return { kind: 'refused', problem: notPublic(hidden.address) };
    const [first, ...others] = addresses;
    if (first === undefined) return { kind: 'failed', problem: 'its name has no address' };
    return { kind: 'answered', ...(await postTo(url, [first, ...others], { ...request, signal, ca })) };
  }

  async function addressesOf(host: string): Promise<readonly Addresses[number][]> {
    const family = isIP(host);
    return family === 0 ? resolve(host) : [{ address: host, family }];
  }

  return {
    async post(url, request) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), deadlineMs);
      const over = new Promise<Posted>((settle) => {
        late.signal.addEventListener('abort', () => settle({ kind: 'failed', problem: noAnswer(deadlineMs) }));
      });
      try {
        // A look-up cannot be stopped, only left behind.
        return await Promise.race([over, attempt(url, request, late.signal)]);
      } catch (error) {
        return { kind: 'failed', problem: problemOf(error) };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
