/** E-mails are sent by SMTP; if the server does not respond, only the e-mail fails (AC10). */
import type net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Mail, MailFault, mailOf, newSmtpMail } from '../../src/accounts/mail.js';
import { newMailServer } from '../world/mail-server.js';

const mail: Mail = {
  to: 'reader@example.com',
  from: '"Desk" <desk@site.example>',
  replyTo: 'help@site.example',
  subject: 'Grüße',
  text: 'a text',
  html: '<p>a text</p>',
};

describe('SMTP', () => {
  let opened: net.Server | null = null;
  afterEach(() => opened?.close());
  const sender = (port: number, from: string | null = null, replyTo: string | null = null) =>
    newSmtpMail({ host: '127.0.0.1', port, username: null, password: null, from, replyTo });

  it('sends text and HTML, with sender and reply address', async () => {
    const { port, heard, server } = await newMailServer();
    opened = server;
    await sender(port).send(mail);
    const text = heard.join('\n');
    expect(text).toContain('MAIL FROM:<desk@site.example>');
    expect(text).toContain('RCPT TO:<reader@example.com>');
    expect(text).toMatch(/Reply-To: help@site\.example/i);
    expect(text).toContain('text/plain');
    expect(text).toContain('text/html');
  });

  it('the configured sender takes precedence; a line break cannot inject a header', async () => {
    const { port, heard, server } = await newMailServer();
    opened = server;
    await sender(port, 'own@site.example').send({ ...mail, subject: 'x\r\nBcc: other@example.com' });
    expect(heard).toContainEqual(expect.stringContaining('MAIL FROM:<own@site.example>'));
    expect(heard.filter((line) => /^bcc:/i.test(line))).toEqual([]);
    expect(heard.join()).not.toContain('RCPT TO:<other@example.com>');
  });

  it('the configured reply address is that of mails that name none', async () => {
    const { port, heard, server } = await newMailServer();
    opened = server;
    await sender(port, null, 'replies@site.example').send({ ...mail, replyTo: null });
    expect(heard).toContain('Reply-To: replies@site.example');
    heard.length = 0;
    await sender(port, null, 'replies@site.example').send(mail);
    expect(heard).toContain('Reply-To: help@site.example');
  });

  it('an unreachable server rejects', async () => {
    const { port, server } = await newMailServer();
    await new Promise((resolve) => server.close(resolve));
    const sent = sender(port).send(mail);
    await expect(sent).rejects.toThrow(MailFault);
    await expect(sent).rejects.toThrow(`mail: could not be sent; check SMTP_HOST (127.0.0.1) and SMTP_PORT (${port})`);
  });
});

describe('the e-mail for a new password', () => {
  const facts = { to: 'reader@example.com', username: 'reader', code: 'c0de' };
  const stored = { subject: 'Own', message: '<p><%= URL %>?code=<%= TOKEN %></p>', from: null, replyTo: 'a@b.example' };

  it('without a page it contains no dead link, whatever the stored template says', () => {
    const { subject, replyTo, text } = mailOf('reset_password', stored, { ...facts, url: null });
    expect([subject, replyTo]).toEqual(['Own', 'a@b.example']);
    expect(text).toContain('Use this code within an hour: c0de');
    expect(text).not.toContain('?code=');
    const plain = { ...stored, message: '<p>Your code: <%= TOKEN %></p>' };
    expect(mailOf('reset_password', plain, { ...facts, url: null }).text).toBe('Your code: c0de');
    const url = 'https://site.example/new';
    expect(mailOf('reset_password', stored, { ...facts, url }).text).toBe(`${url}?code=c0de`);
  });
});
