/** How a project sends its mails. */
import type { FastifyBaseLogger } from 'fastify';
import { type MailSender, newSmtpMail, newToldMail, noMail } from '../accounts/mail.js';
import type { Project } from './project.js';

/** Sends mails if a mail server is configured. Otherwise they are logged in development and discarded in production. */
export const mailFor = ({ config, env }: Project, logger: FastifyBaseLogger): MailSender => {
  if (env.SMTP_HOST !== undefined)
    return newSmtpMail({
      host: env.SMTP_HOST,
      port: env.SMTP_PORT,
      username: env.SMTP_USERNAME ?? null,
      password: env.SMTP_PASSWORD ?? null,
      from: config.mail.from,
      replyTo: config.mail.replyTo,
    });
  if (env.NODE_ENV === 'production') return noMail;
  return newToldMail(({ to, subject, text, own }) =>
    logger.info({ to, cc: own?.cc, bcc: own?.bcc, subject, text }, 'mail: not sent because SMTP_HOST is not set'),
  );
};
