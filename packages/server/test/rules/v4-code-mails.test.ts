/** Mails that project code sends: all that it gives reaches the mail server, or is named in the log. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { type MailServer, newMailServer } from '../world/mail-server.js';

const files = {
  'dovetail.config.json': JSON.stringify({ mail: { from: 'usual@site.example', replyTo: 'replies@site.example' } }),
  'src/api/mail/routes/mail.js': `module.exports = { routes: [
    ...['send', 'template', 'provider'].map((name) => ({ method: 'POST', path: '/' + name, handler: 'mail.' + name, config: { auth: false } })),
  ] };`,
  'src/api/mail/controllers/mail.js': `module.exports = {
    async send(ctx) {
      await strapi.plugin('email').service('email').send(ctx.request.body);
      return { sent: true };
    },
    async template(ctx) {
      const { options, template, data } = ctx.request.body;
      await strapi.plugins.email.services.email.sendTemplatedEmail(options, template, data);
      return { sent: true };
    },
    async provider(ctx) {
      await strapi.plugin('email').provider.send(ctx.request.body);
      return { sent: true };
    },
  };`,
};

const mail = { to: 'mia@example.org', subject: 'An invoice', text: 'It is attached.' };

describe.each(dialects)('mails of code on %s', (dialect) => {
  let smtp: MailServer;
  let served: CodeProject;
  beforeAll(async () => {
    smtp = await newMailServer();
    served = await serveCode(dialect, files, { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(smtp.port) });
  });
  afterAll(async () => {
    await served.close();
    smtp.server.close();
  });
  /** What the mail server heard of one mail. */
  const send = async (given: object, path = 'send'): Promise<string> => {
    smtp.heard.length = 0;
    const { status, body } = await served.json('POST', `/api/${path}`, given);
    expect([status, body]).toEqual([200, { sent: true }]);
    return smtp.heard.join('\n');
  };

  it('go to everybody whom they name, with attachments, headers and a sender of their own', async () => {
    const heard = await send({
      ...mail,
      to: ['mia@example.org', { name: 'Noa', address: 'noa@example.org' }],
      cc: 'desk@example.org',
      bcc: ['hidden@example.org'],
      from: 'shop@site.example',
      replyTo: 'help@site.example',
      headers: { 'X-Campaign': 'spring' },
      attachments: [{ filename: 'invoice.txt', content: 'a b c' }],
    });
    for (const name of ['mia', 'noa', 'desk', 'hidden']) expect(heard).toContain(`RCPT TO:<${name}@example.org>`);
    expect(heard).toContain('MAIL FROM:<shop@site.example>');
    expect(heard).toMatch(/^Cc: desk@example\.org$/m);
    expect(heard).toMatch(/^Reply-To: help@site\.example$/m);
    expect(heard).toMatch(/^X-Campaign: spring$/m);
    expect(heard).toMatch(new RegExp(`filename=invoice\\.txt\\s+${Buffer.from('a b c').toString('base64')}`));
    expect(heard).not.toMatch(/^Bcc:/m);
  });

  it('come from the configured sender where they name none, and replies go to the configured address', async () => {
    const heard = await send({ ...mail, from: null, cc: '' });
    expect(heard).toContain('MAIL FROM:<usual@site.example>');
    expect(heard).toMatch(/^Reply-To: replies@site\.example$/m);
  });

  it('are filled from templates, of which only names of values are replaced', async () => {
    const options = { to: 'mia@example.org' };
    const template = {
      subject: 'Welcome, <%= user.name %>',
      text: 'You are <%=user.age%>, <%= nobody %> <%= user %> <%= 1 + 1 %> <%- user.name %> <%= user.constructor %>',
      html: '<b><%= user.name %></b><%= none %>',
    };
    const heard = await send({ options, template, data: { user: { name: 'Mia', age: 7 }, none: null } }, 'template');
    expect(heard).toContain('Subject: Welcome, Mia');
    expect(heard.replaceAll(/=\n/g, '').replaceAll('=3D', '=')).toContain(
      'You are 7, <%= nobody %> <%= user %> <%= 1 + 1 %> <%- user.name %> <%= user.constructor %>',
    );
    expect(heard).toContain('<b>Mia</b>');
    const incomplete = { options, template: { subject: 'x' }, data: {} };
    expect((await served.json('POST', '/api/template', incomplete)).status).toBe(500);
    expect(served.logged.join()).toContain('sendTemplatedEmail: the template has no text and no html');
  });

  it('go through the provider too', async () => {
    expect(await send(mail, 'provider')).toContain('Subject: An invoice');
  });

  it('go out without what a mail server knows nothing of, which the log names once', async () => {
    for (let i = 0; i < 2; i++) expect(await send({ ...mail, templateId: 'd-123' })).toContain('Subject: An invoice');
    const said = served.logged.filter((it) => it.includes('templateId'));
    expect(said).toEqual([expect.stringContaining('knows nothing of \\"templateId\\": it is left out')]);
  });
});
