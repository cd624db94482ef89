/** v4's settings of users and their mails, as its admin panel writes them (ST6, AC18). */
import { sql } from 'kysely';
import type { Dialect, Rows, Statement } from '../sql/dialect.js';

export type SettingName = 'advanced' | 'grant' | 'email';

export interface UserSettings {
  readonly uniqueEmail: boolean;
  readonly allowRegister: boolean;
  readonly emailConfirmation: boolean;
  /** The page on which a new password is entered. */
  readonly resetPage: string | null;
  /** The page that a confirmed user is redirected to. */
  readonly confirmedPage: string | null;
  /** The type of the role that new users get. */
  readonly defaultRole: string;
  /** Whether users log in by e-mail or name and password. */
  readonly localLogin: boolean;
  readonly mails: Readonly<Record<MailName, MailTemplate | null>>;
}

export type MailName = 'reset_password' | 'email_confirmation';

export interface MailTemplate {
  readonly subject: string;
  readonly message: string;
  readonly from: { readonly name: string; readonly email: string } | null;
  readonly replyTo: string | null;
}

const keyOf = (name: SettingName): string => `plugin_users-permissions_${name}`;

/** The settings are few and rarely read together; each caller names what it needs. */
export const settingsStatement = (names: readonly SettingName[], dialect: Dialect): Statement => {
  const keys = names.map((name) => dialect.bind('string', keyOf(name)));
  return dialect.compile(
    sql`select ${sql.ref('key')}, ${sql.ref('value')} from strapi_core_store_settings where ${sql.ref('key')} in (${sql.join(keys)}) order by id`,
  );
};

/** Missing or invalid settings get v4's defaults. */
export const settingsOf = (rows: Rows): UserSettings => {
  const read = (name: SettingName): Tree => {
    // the key is not unique; the reference takes the first
    const row = rows.find(([key]) => key === keyOf(name));
    try {
      return treeOf(row ? JSON.parse(String(row[1])) : null);
    } catch {
      return {};
    }
  };
  const [advanced, grant, email] = [read('advanced'), read('grant'), read('email')];
  return {
    uniqueEmail: advanced['unique_email'] !== false,
    allowRegister: advanced['allow_register'] !== false,
    emailConfirmation: advanced['email_confirmation'] === true,
    resetPage: textOf(advanced['email_reset_password']),
    confirmedPage: textOf(advanced['email_confirmation_redirection']),
    defaultRole: textOf(advanced['default_role']) ?? 'authenticated',
    localLogin: treeOf(grant['email'])['enabled'] !== false,
    mails: {
      reset_password: templateOf(email['reset_password']),
      email_confirmation: templateOf(email['email_confirmation']),
    },
  };
};

type Tree = Readonly<Record<string, unknown>>;
const treeOf = (value: unknown): Tree => (value !== null && typeof value === 'object' ? (value as Tree) : {});
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const templateOf = (value: unknown): MailTemplate | null => {
  const options = treeOf(treeOf(value)['options']);
  const [subject, message] = [textOf(options['object']), textOf(options['message'])];
  if (subject === null || message === null) return null;
  const from = treeOf(options['from']);
  const address = textOf(from['email']);
  return {
    subject,
    message,
    from: address === null ? null : { name: textOf(from['name']) ?? '', email: address },
    replyTo: textOf(options['response_email']),
  };
};
