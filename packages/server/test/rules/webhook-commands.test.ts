/** The commands `webhook`. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  addWebhookCommand,
  enableWebhookCommand,
  listDeliveriesCommand,
  listWebhooksCommand,
  removeWebhookCommand,
  retryDeliveriesCommand,
  testWebhookCommand,
} from '../../src/cli/commands/webhook.js';
import { eventNames } from '../../src/events/events.js';
import { isBadPort } from '../../src/events/sender.js';
import { type Changing, newChanging } from '../world/changed.js';
import { printed } from '../world/printed.js';
import { newReceiver, type Receiver } from '../world/receiver.js';
import { contentType, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const files = { [typeFile('note')]: contentType('note', { title: { type: 'string' } }) };
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe.each(dialects)('webhook commands on %s', (dialect) => {
  let changing: Changing;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await newReceiver();
    changing = await newChanging(dialect, files);
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await changing.close();
    await receiver.close();
  });

  const project = () => changing.dir;
  const add = (url: string, { events = ['entry.create'], header = [] as readonly string[] } = {}) =>
    printed(() => addWebhookCommand(url, { project: project(), events, header }));
  const list = async (json = false) => (await printed(() => listWebhooksCommand({ project: project(), json }))).out;
  const deliveries = async (webhook: number | null = null) =>
    JSON.parse(
      (await printed(() => listDeliveriesCommand({ project: project(), webhook, json: true }))).out,
    ) as object[];

  it('webhook add prints the id, list shows it, disable and enable change it, remove ends it', async () => {
    expect(await add('https://example.org/a', { events: ['entry.create,entry.update'] })).toEqual({
      out: '1\n',
      said: 'webhook 1 added: entry.create, entry.update to https://example.org/a\n',
    });
    await add('http://example.org/b', { events: ['all'], header: ['Authorization: Bearer x'] });
    await printed(() => enableWebhookCommand(project(), 1, false));
    expect(await list()).toBe(
      `1  disabled  0 waiting, 0 failed  entry.create,entry.update  https://example.org/a  example.org\n2  enabled  0 waiting, 0 failed  ${eventNames.join(',')}  http://example.org/b  example.org\n`,
    );
    await printed(() => enableWebhookCommand(project(), 1, true));
    await printed(() => removeWebhookCommand(project(), 2));
    expect(JSON.parse(await list(true))).toEqual([
      {
        id: 1,
        name: 'example.org',
        url: 'https://example.org/a',
        headers: {},
        events: ['entry.create', 'entry.update'],
        enabled: true,
        waiting: 0,
        failed: 0,
      },
    ]);
  });

  it('what cannot be a webhook is refused', async () => {
    await expect(add('ftp://example.org')).rejects.toThrow('"ftp://example.org" is not a URL that begins with http');
    await expect(add('https://a:b@example.org')).rejects.toThrow('must not hold a password');
    await expect(add('http://127.0.0.1:6667/hook')).rejects.toThrow('port 6667 belongs to another protocol');
    await expect(add(receiver.url, { events: ['entry.creat'] })).rejects.toThrow('did you mean "entry.create"?');
    await expect(add(receiver.url, { header: ['no colon'] })).rejects.toThrow("is not of the form 'Name: value'");
    await expect(removeWebhookCommand(project(), 9)).rejects.toThrow('There is no webhook 9');
    await expect(testWebhookCommand(project(), 9)).rejects.toThrow('There is no webhook 9');
    expect(await list()).toBe('');
  });

  it('webhook test sends the event at once, signed, and fails if it is not accepted', async () => {
    vi.stubEnv('WEBHOOK_SECRET', secret);
    await add(receiver.url, { header: ['X-Own: own'] });
    expect((await printed(() => testWebhookCommand(project(), 1))).out).toBe(`${receiver.url}: 200\n`);
    expect(receiver.hooks[0]!.headers).toMatchObject({
      'x-strapi-event': 'trigger-test',
      'x-own': 'own',
      'webhook-signature': expect.stringMatching(/^v1,.{44}$/),
    });
    expect(Object.keys(receiver.hooks[0]!.body)).toEqual(['event', 'createdAt']);
    receiver.answer((response) => void response.writeHead(500).end());
    await expect(testWebhookCommand(project(), 1)).rejects.toThrow(`${receiver.url}: 500`);
  });

  it('a secret of another form is refused', async () => {
    vi.stubEnv('WEBHOOK_SECRET', 'short');
    await expect(list()).rejects.toThrow('WEBHOOK_SECRET: expected whsec_ and at least 24 bytes in base64');
  });

  it('webhook deliveries lists what waits and what was given up, and webhook retry makes that due', async () => {
    await add(receiver.url);
    await changing.run(
      `insert into dovetail_deliveries (webhook_id, subject, message, event, body, created_at, due_at, attempts, status, fault) values (1, 'api::note.note 1', 'm1', 'entry.create', '{}', 1700000000000, null, 10, 500, '500'), (1, 'api::note.note 2', 'm2', 'entry.create', '{}', 1700000000000, 1700000005000, 0, null, null)`,
    );
    expect((await printed(() => listDeliveriesCommand({ project: project(), webhook: 1, json: false }))).out).toBe(
      '1  webhook 1  entry.create  api::note.note 1  2023-11-14T22:13:20.000Z  given up  after 10 attempts: 500\n2  webhook 1  entry.create  api::note.note 2  2023-11-14T22:13:20.000Z  due 2023-11-14T22:13:25.000Z\n',
    );
    expect(await list()).toContain('1 waiting, 1 failed');
    expect((await printed(() => retryDeliveriesCommand(project(), [1]))).said).toBe('1 delivery is due again\n');
    await expect(retryDeliveriesCommand(project(), [1, 2])).rejects.toThrow('Only 0 of these were given up');
    expect(await deliveries()).toMatchObject([
      { id: 1, attempts: 0, dueAt: expect.any(String) },
      { id: 2, attempts: 0 },
    ]);
    expect(await deliveries(1)).toHaveLength(2);
    await printed(() => removeWebhookCommand(project(), 1));
    expect(await deliveries()).toEqual([]);
  });
});

it('ports to which fetch sends nothing are known beforehand', { timeout: 60_000 }, async () => {
  const refused: number[] = [];
  const known: number[] = [];
  // what fetch does not refuse ends here, and is not sent
  const dispatcher = {
    dispatch: () => {
      throw new Error('not sent');
    },
  };
  for (let port = 1; port <= 11_000; port++) {
    if (isBadPort(String(port))) known.push(port);
    const fault = await fetch(`http://127.0.0.1:${port}`, { dispatcher } as object).catch((it: Error) => it);
    const { cause } = fault as { readonly cause?: Error };
    expect(['bad port', 'not sent']).toContain(cause?.message ?? 'not sent');
    if (cause?.message === 'bad port') refused.push(port);
  }
  // older versions of Node refuse fewer
  expect(known).toEqual(expect.arrayContaining(refused));
});
