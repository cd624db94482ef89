/** The URLs of a v4 server, as its configuration says them: with or without a host. */
import { isMembers, type Members } from './parts.js';

export interface ConfigUrls {
  /** Without a slash at its end; empty if the configuration says none. */
  readonly serverUrl: string;
  /** That of the admin panel. */
  readonly adminUrl: string;
  /** Where the admin panel lies below the server. */
  readonly adminPath: string;
}

/** `server.url` and `admin.url` of a configuration. */
export const configUrls = (config: unknown): ConfigUrls => {
  const serverUrl = placeOf(partOf(config, 'server')['url'] ?? '', 'server', '');
  const adminUrl = placeOf(partOf(config, 'admin')['url'] ?? '/admin', 'admin', serverUrl);
  return { serverUrl, adminUrl, adminPath: pathBelow(serverUrl, adminUrl) };
};

export const absoluteServerUrl = (config: unknown): string => absolute(configUrls(config).serverUrl, config);

export const absoluteAdminUrl = (config: unknown): string => absolute(configUrls(config).adminUrl, config);

/** @param base what a path lies below. */
const placeOf = (given: unknown, of: 'server' | 'admin', base: string): string => {
  if (typeof given !== 'string') throw new Error(`Invalid ${of} url config. Make sure the url is a string.`);
  const text = trimmed(given);
  if (!isWhole(text)) return text === '' && of === 'server' ? '' : `${base}/${text}`;
  if (!URL.canParse(text)) throw new Error(`Invalid ${of} url config. Make sure the url defined in ${of}.js is valid.`);
  return trimmed(new URL(text).toString());
};

const pathBelow = (serverUrl: string, adminUrl: string): string => {
  if (!isWhole(adminUrl)) return adminUrl;
  const isBelow = isWhole(serverUrl) && new URL(serverUrl).origin === new URL(adminUrl).origin;
  return isBelow ? `/${trimmed(adminUrl.replace(serverUrl, ''))}` : new URL(adminUrl).pathname;
};

const absolute = (url: string, config: unknown): string => {
  if (isWhole(url)) return url;
  const { host, port } = partOf(config, 'server');
  const isLocal =
    isMembers(config) && config['environment'] === 'development' && ['127.0.0.1', '0.0.0.0'].includes(String(host));
  return `http://${isLocal ? 'localhost' : String(host)}:${String(port)}${url}`;
};

const isWhole = (url: string): boolean => url.startsWith('http');

const trimmed = (text: string): string => text.replaceAll(/^[/ ]+|[/ ]+$/g, '');

const partOf = (config: unknown, name: string): Members => {
  const part = isMembers(config) ? config[name] : undefined;
  return isMembers(part) ? part : {};
};
