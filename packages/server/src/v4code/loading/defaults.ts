/** What `strapi.config` says where the files of `config/` say nothing: v4's defaults, with what is in force here. */
import fs from 'node:fs';
import path from 'node:path';
import set from 'lodash/set.js';
import type { CodeConfig } from './config.js';
import { CodeFault } from './load.js';
import { isMembers, type Members } from './parts.js';
import { absoluteAdminUrl, absoluteServerUrl, type ConfigUrls, configUrls } from './urls.js';

/** Settings of the server that code may ask for. */
export interface SettingsInForce {
  readonly host: string;
  readonly port: number;
  /** The public URL; null if none is configured. */
  readonly url: string | null;
  readonly uploads: {
    readonly provider: 'local' | 'aws-s3';
    readonly sizeLimit: number;
  };
  /** The sender of mails; null if none is configured. */
  readonly mailFrom: string | null;
  /** Null if none is configured. */
  readonly mailReplyTo: string | null;
}

export interface DefaultsOptions {
  readonly dir: string;
  readonly settings: SettingsInForce;
  readonly jwtSecret: string;
  readonly jwtSeconds: number;
}

/** Puts them below what the tree has. */
export const addDefaults = ({ tree }: CodeConfig, { dir, settings, jwtSecret, jwtSeconds }: DefaultsOptions): void => {
  const { host, port, url, uploads, mailFrom, mailReplyTo } = settings;
  const days = jwtSeconds / 86_400;
  const below: Members = {
    server: {
      host,
      port,
      ...(url === null ? {} : { url }),
      proxy: false,
      cron: { enabled: false },
      admin: { autoOpen: false },
      dirs: { public: './public' },
    },
    admin: {},
    info: infoOf(dir),
    plugin: {
      'users-permissions': {
        // a number is one of seconds, as jsonwebtoken takes it
        jwt: { expiresIn: Number.isInteger(days) ? `${days}d` : jwtSeconds },
      },
      upload: { ...uploads, providerOptions: {}, actionOptions: {} },
      email: {
        provider: 'nodemailer',
        providerOptions: {},
        settings: {
          defaultFrom: mailFrom ?? 'no-reply@localhost',
          ...(mailReplyTo === null ? {} : { defaultReplyTo: mailReplyTo }),
        },
      },
    },
  };
  for (const [name, it] of Object.entries(below)) tree[name] = withDefaults(tree[name], it);
  addUrls(tree);
  // above all: tokens that code signs or verifies itself are those of the server
  set(tree, ['plugin', 'users-permissions', 'jwtSecret'], jwtSecret);
};

/** As v4 does: places without a host become whole ones. */
const addUrls = (tree: Record<string, unknown>): void => {
  const { serverUrl, adminUrl, adminPath } = urlsOf(tree);
  const own = { url: serverUrl, absoluteUrl: absoluteServerUrl(tree) };
  const panel = { url: adminUrl, path: adminPath, absoluteUrl: absoluteAdminUrl(tree) };
  tree['server'] = { ...(tree['server'] as Members), ...own };
  tree['admin'] = { ...(tree['admin'] as Members), ...panel };
};

const urlsOf = (tree: Members): ConfigUrls => {
  try {
    return configUrls(tree);
  } catch (fault) {
    throw new CodeFault(`config: ${(fault as Error).message}`);
  }
};

/** What package.json says, and the version of Strapi that it names. */
const infoOf = (dir: string): Members => {
  const file = path.join(dir, 'package.json');
  const found: unknown = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  const info = isMembers(found) ? found : {};
  const range = isMembers(info['dependencies']) ? info['dependencies']['@strapi/strapi'] : undefined;
  const [strapi = AS_RECORDED] = /\d+\.\d+\.\d+\S*/.exec(String(range)) ?? [];
  return { ...info, strapi };
};

/** The version whose behaviour was recorded. */
const AS_RECORDED = '4.26.2';

const withDefaults = (given: unknown, below: unknown): unknown => {
  if (given === undefined) return below;
  if (!isMembers(given) || !isMembers(below)) return given;
  const names = Object.keys(below).filter((name) => given[name] === undefined || isMembers(below[name]));
  if (names.length === 0) return given;
  return { ...given, ...Object.fromEntries(names.map((name) => [name, withDefaults(given[name], below[name])])) };
};
