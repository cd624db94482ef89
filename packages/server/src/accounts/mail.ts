/** Mails to users: their text, and the interface that sends them. */
import type { SendMailOptions } from 'nodemailer';
import type { MailName, MailTemplate } from '../access/settings.js';

export interface Mail {
  readonly to: string;
  /** Null for the configured sender. */
  readonly from: string | null;
  readonly replyTo: string | null;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** What code of a project gives: it wins over all of the above, and over the configured sender. */
  readonly own?: SendMailOptions;
}

export interface MailSender {
  /** Resolves once the mail server has accepted the mail; rejects if it does not. */
  send(mail: Mail): Promise<void>;
}

/** A mail could not be sent; the message is for the log. */
export class MailFault extends Error {}

/** Discards all mails. */
export const noMail: MailSender = { send: async () => undefined };

/** Logs mails instead of sending them, for development. Their text contains the codes. */
export const newToldMail = (tell: (mail: Mail) => void): MailSender => ({
  send: async (mail) => {
    tell(mail);
  },
});

export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string | null;
  readonly password: string | null;
  /** Overrides the sender of every mail but those of code that names its own; null keeps it. */
  readonly from: string | null;
  /** Where replies to mails go that name no such address; null for the sender. */
  readonly replyTo: string | null;
}

/** The driver is loaded with the first mail. Port 465 uses implicit TLS, other ports STARTTLS if the server offers it. */
export const newSmtpMail = ({ host, port, username, password, ...options }: SmtpOptions): MailSender => {
  const transport = async () => {
    const { createTransport } = await import('nodemailer');
    const auth = username === null ? {} : { auth: { user: username, pass: password ?? '' } };
    return createTransport({ host, port, secure: port === 465, ...auth });
  };
  let opened: ReturnType<typeof transport> | null = null;
  return {
    send: async ({ to, subject, text, html, own, ...mail }) => {
      opened ??= transport();
      const from = options.from ?? mail.from ?? 'no-reply@localhost';
      const replyTo = mail.replyTo ?? options.replyTo;
      const sent = { to, from, subject, text, html, ...(replyTo === null ? {} : { replyTo }), ...own };
      try {
        await (await opened).sendMail(sent);
      } catch (fault) {
        throw new MailFault(`mail: could not be sent; check SMTP_HOST (${host}) and SMTP_PORT (${port})`, {
          cause: fault,
        });
      }
    },
  };
};

export interface MailFacts {
  readonly to: string;
  readonly username: string;
  /** The page that the link opens; null for no link, only the code. */
  readonly url: string | null;
  readonly code: string;
}

/** Used if the admin panel's template is missing or unusable. Without a page for the new password the mail contains only the code. */
export const ownTemplate = (name: MailName, url: string | null): MailTemplate => {
  const rest = { from: null, replyTo: null };
  if (name === 'email_confirmation')
    return {
      ...rest,
      subject: 'Account confirmation',
      message: '<p>Welcome! Please confirm your address: <%= URL %>?confirmation=<%= CODE %></p>',
    };
  const way =
    url === null
      ? 'Use this code within an hour: <%= TOKEN %>'
      : 'Use this link within an hour: <%= URL %>?code=<%= TOKEN %>';
  return {
    ...rest,
    subject: 'Reset password',
    message: `<p>Someone, probably you, requested a new password.</p><p>${way}</p><p>If it was not you, you can ignore this mail.</p>`,
  };
};

/** A null sender means the configured one. */
export const mailOf = (name: MailName, template: MailTemplate | null, facts: MailFacts): Mail => {
  const own = ownTemplate(name, facts.url);
  const { subject, from: sender, replyTo } = template ?? own;
  // a template with a link is unusable without a page
  const message =
    template === null || (facts.url === null && /<%[=-]?\s*URL\s*%>/.test(template.message))
      ? own.message
      : template.message;
  const html = fill(message, facts, escapeHtml);
  return {
    to: facts.to,
    from:
      sender === null
        ? null
        : sender.name === ''
          ? sender.email
          : `"${sender.name.replaceAll('"', '')}" <${sender.email}>`,
    replyTo,
    subject: fill(subject, facts, (text) => text.replaceAll(/[\r\n]/g, ' ')),
    text: textOf(html),
    html,
  };
};

/** Replaces v4's placeholders by name. Templates are never executed. */
const fill = (template: string, { url, code, username, to }: MailFacts, quote: (text: string) => string): string => {
  const values: Readonly<Record<string, string>> = {
    URL: url ?? '',
    TOKEN: encodeURIComponent(code),
    CODE: encodeURIComponent(code),
    'USER.username': username,
    'USER.email': to,
  };
  return template.replaceAll(/<%[=-]?\s*([\w.]+)\s*%>/g, (_whole, name: string) =>
    Object.hasOwn(values, name) ? quote(values[name]!) : '',
  );
};

/** Strips the tags and keeps the paragraphs. */
const textOf = (html: string): string =>
  unescapeHtml(html.replaceAll(/<(?:\/p|br ?\/?|\/div|\/h\d|\/li)>/gi, '\n').replaceAll(/<[^>]*>/g, ''))
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();

const entities: readonly (readonly [string, string])[] = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
];
const escapeHtml = (text: string): string =>
  entities.reduce((it, [plain, entity]) => it.replaceAll(plain, entity), text);
const unescapeHtml = (text: string): string =>
  [...entities].reverse().reduce((it, [plain, entity]) => it.replaceAll(entity, plain), text);
