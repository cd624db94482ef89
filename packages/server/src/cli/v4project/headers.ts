/** v4's `strapi::security`, options of helmet, as the headers that they make. */
import { contentSecurityPolicy } from '../../http/headers.js';
import { isPlain, listOf, textOf, valueAt } from './values.js';

/** Headers by name; null for one that is not sent, none for the usual one. Undefined if the option cannot be read. */
type Headers = Readonly<Record<string, string | null>>;
type ReadOption = (value: unknown) => Headers | undefined;

/** The directives that v4 has where `useDefaults` is false. */
const ownDirectives = ['connect-src', 'img-src', 'media-src'];

const policy: ReadOption = (value) => {
  const name = 'content-security-policy';
  if (value === false) return { [name]: null };
  if (value === true) return {};
  if (!isPlain(value)) return undefined;
  const usual = Object.entries(contentSecurityPolicy).filter(
    ([directive]) => value['useDefaults'] !== false || ownDirectives.includes(directive),
  );
  const directives = new Map<string, string>(usual);
  for (const [given, sources] of Object.entries(isPlain(value['directives']) ? value['directives'] : {})) {
    const directive = given.replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`);
    if (sources === null) directives.delete(directive);
    else if (Array.isArray(sources) && sources.some((it) => typeof it !== 'string')) return undefined;
    else directives.set(directive, typeof sources === 'string' ? sources : listOf(sources).join(' '));
  }
  const text = [...directives].map(([it, sources]) => `${it} ${sources}`.trim()).join(';');
  return { [value['reportOnly'] === true ? `${name}-report-only` : name]: text };
};

const hsts: ReadOption = (value) => {
  if (value === false) return { 'strict-transport-security': null };
  if (value === true) return {};
  if (!isPlain(value)) return undefined;
  const { maxAge = 31_536_000, includeSubDomains = true, preload = false } = value;
  const parts = [`max-age=${String(maxAge)}`, includeSubDomains && 'includeSubDomains', preload && 'preload'];
  return { 'strict-transport-security': parts.filter(Boolean).join('; ') };
};

/** One word in the header, from a member of the option. */
const word =
  (header: string, key: string, change: (text: string) => string = (it) => it): ReadOption =>
  (value) => {
    if (value === false) return { [header]: null };
    if (value === true) return {};
    const given = valueAt(value, key);
    const text = Array.isArray(given) ? listOf(given).join(',') : textOf(given);
    return text === null ? undefined : { [header]: change(text) };
  };

const onOff =
  (header: string, on: string): ReadOption =>
  (value) =>
    typeof value === 'boolean' ? { [header]: value ? on : null } : undefined;

/** What an option that is an object may say. */
const members: Readonly<Record<string, readonly string[]>> = {
  contentSecurityPolicy: ['useDefaults', 'directives', 'reportOnly'],
  hsts: ['maxAge', 'includeSubDomains', 'preload'],
  strictTransportSecurity: ['maxAge', 'includeSubDomains', 'preload'],
  frameguard: ['action'],
  referrerPolicy: ['policy'],
  permittedCrossDomainPolicies: ['permittedPolicies'],
  crossOriginEmbedderPolicy: ['policy'],
  crossOriginOpenerPolicy: ['policy'],
  crossOriginResourcePolicy: ['policy'],
  dnsPrefetchControl: ['allow'],
};

const options: Readonly<Record<string, ReadOption>> = {
  contentSecurityPolicy: policy,
  hsts,
  strictTransportSecurity: hsts,
  frameguard: word('x-frame-options', 'action', (it) => it.toUpperCase()),
  referrerPolicy: word('referrer-policy', 'policy'),
  permittedCrossDomainPolicies: word('x-permitted-cross-domain-policies', 'permittedPolicies'),
  crossOriginEmbedderPolicy: (value) =>
    value === true
      ? { 'cross-origin-embedder-policy': 'require-corp' }
      : word('cross-origin-embedder-policy', 'policy')(value),
  crossOriginOpenerPolicy: (value) =>
    value === true
      ? { 'cross-origin-opener-policy': 'same-origin' }
      : word('cross-origin-opener-policy', 'policy')(value),
  crossOriginResourcePolicy: (value) =>
    value === true
      ? { 'cross-origin-resource-policy': 'same-origin' }
      : word('cross-origin-resource-policy', 'policy')(value),
  dnsPrefetchControl: (value) =>
    value === false
      ? { 'x-dns-prefetch-control': null }
      : { 'x-dns-prefetch-control': valueAt(value, 'allow') === true ? 'on' : 'off' },
  noSniff: onOff('x-content-type-options', 'nosniff'),
  ieNoOpen: onOff('x-download-options', 'noopen'),
  originAgentCluster: onOff('origin-agent-cluster', '?1'),
  xssFilter: onOff('x-xss-protection', '0'),
  hidePoweredBy: () => ({}),
};

export interface SecurityHeaders {
  readonly headers: Headers;
  /** Paths of options that are not known, or cannot be read. */
  readonly unknown: readonly (readonly string[])[];
}

/** @param config of `strapi::security`. */
export const securityHeadersOf = (config: unknown): SecurityHeaders => {
  const headers: Record<string, string | null> = {};
  const unknown: string[][] = [];
  for (const [name, value] of Object.entries(isPlain(config) ? config : {})) {
    const read = options[name]?.(value);
    if (read === undefined) {
      unknown.push([name]);
      continue;
    }
    Object.assign(headers, read);
    const others = Object.keys(isPlain(value) ? value : {}).filter((it) => !members[name]?.includes(it));
    unknown.push(...others.map((it) => [name, it]));
  }
  return { headers, unknown };
};

/** `256mb`, `10 kb`, or a number: bytes. */
export const bytesOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  const [, count, unit = 'b'] = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(String(value).trim()) ?? [];
  if (count === undefined) return undefined;
  const factor = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }[unit.toLowerCase()] ?? 1;
  return Math.round(Number(count) * factor);
};
