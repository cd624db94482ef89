/** Sends a delivery to its receiver, signed as Standard Webhooks define it. */
import crypto from 'node:crypto';
import { limits } from '../limits.js';
import type { Webhook } from './webhooks.js';

export interface SenderOptions {
  /** Sent to every webhook; a header of the webhook itself takes precedence. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Signs deliveries; null sends them unsigned, as v4 does. */
  readonly signingKey: Buffer | null;
  /** Milliseconds that a receiver has to answer; `limits.webhookMsMax` by default. */
  readonly msMax?: number | undefined;
}

export interface Message {
  /** The same for each attempt. */
  readonly message: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
}

export type Sent =
  | { readonly ok: true; readonly status: number }
  | { readonly ok: false; readonly status: number | null; readonly fault: string };

/** @param now milliseconds since 1970 UTC. */
export const send = async (
  { url, headers }: Pick<Webhook, 'url' | 'headers'>,
  { message, event, body }: Message,
  { defaultHeaders, signingKey, msMax = limits.webhookMsMax }: SenderOptions,
  now: number,
): Promise<Sent> => {
  const target = withoutCredentials(url);
  try {
    const all = new Headers({ 'user-agent': 'Dovetail', ...target.headers });
    for (const [name, value] of [...Object.entries(defaultHeaders), ...Object.entries(headers)]) all.set(name, value);
    const timestamp = String(Math.floor(now / 1000));
    all.set('X-Strapi-Event', event);
    all.set('Content-Type', 'application/json');
    all.set('Webhook-Id', message);
    all.set('Webhook-Timestamp', timestamp);
    if (signingKey) all.set('Webhook-Signature', signatureOf(`${message}.${timestamp}.${body}`, signingKey));
    const response = await fetch(target.url, {
      method: 'POST',
      headers: all,
      body,
      // a receiver must not direct requests to addresses of its own choice
      redirect: 'manual',
      signal: AbortSignal.timeout(msMax),
    });
    await discard(response);
    const { ok, status } = response;
    if (ok) return { ok, status };
    const location = response.headers.get('location');
    const isRedirect = status >= 300 && status < 400 && location !== null;
    const fault = isRedirect ? `${status}: redirects to ${location}, which is not followed` : `${status}`;
    return { ok: false, status, fault: shorten(fault) };
  } catch (fault) {
    return { ok: false, status: null, fault: shorten(causeOf(fault)) };
  }
};

/** Ports of other protocols, to which `fetch` sends nothing ("bad port" in the Fetch standard). */
const badPorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** @param port of a URL: '' if that does not give any. */
export const isBadPort = (port: string): boolean => port !== '' && badPorts.has(Number(port));

/**
 * The user and password of a URL as the header that they stand for: `fetch` refuses such a URL, with a message that holds them. An
 * `Authorization` of the webhook itself takes precedence.
 */
const withoutCredentials = (
  given: string,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } => {
  const url = URL.parse(given);
  if (!url || (url.username === '' && url.password === '')) return { url: given, headers: {} };
  const text = [url.username, url.password].map(decoded).join(':');
  url.username = '';
  url.password = '';
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } };
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // a % that escapes nothing stands for itself
    return text;
  }
};

const signatureOf = (text: string, key: Buffer): string =>
  `v1,${crypto.createHmac('sha256', key).update(text).digest('base64')}`;

/** Reads a short response, so that its connection can be used again; the status is known already. */
const discard = async ({ body }: Response): Promise<void> => {
  if (!body) return;
  const reader = body.getReader();
  const timer = setTimeout(() => reader.cancel().catch(ignore), DISCARD_MS);
  try {
    for (let bytes = 0; bytes <= limits.webhookResponseBytesMax; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // it was received
  } finally {
    clearTimeout(timer);
  }
};

const DISCARD_MS = 1_000;

const ignore = (): void => undefined;

/** fetch throws `fetch failed`; its cause says why. */
const causeOf = (fault: unknown): string => {
  const { name, message, cause } = fault as Error;
  if (name === 'TimeoutError') return 'no response in time';
  const { code, message: reason } = (cause ?? {}) as { readonly code?: string; readonly message?: string };
  return reason || code || message;
};

const shorten = (text: string): string => text.slice(0, 500);
