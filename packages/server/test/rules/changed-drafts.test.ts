/**
 * `draftAndPublish` switched off or on after entries were created (DR10): no draft is published without an explicit
 * command, and no visible entry becomes hidden.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { check, sync } from '../../src/cli/commands/check.js';
import { type Changing, newChanging } from '../world/changed.js';
import { printed } from '../world/printed.js';
import { contentType, type Json, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const note = (draftAndPublish: boolean) => ({
  [typeFile('note')]: contentType('note', { title: { type: 'string' } }, { options: { draftAndPublish } }),
  // a type that never had drafts
  [typeFile('memo')]: contentType('memo', { title: { type: 'string' } }),
});
const uid = 'api::note.note';

interface Listed {
  readonly data: readonly { readonly id: number; readonly attributes: Json }[];
}

const opened = (dialect: (typeof dialects)[number], draftAndPublish: boolean) => {
  const state: { changing: Changing | null } = { changing: null };
  beforeAll(async () => {
    state.changing = await newChanging(dialect, note(draftAndPublish));
  });
  afterAll(() => state.changing?.close());
  afterEach(() => {
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  });
  const changing = (): Changing => state.changing!;
  return {
    changing,
    post: (data: Json) => changing().server.send('POST', '/api/notes', { body: { data } }),
    titles: async (query = '') =>
      ((await changing().server.get(`/api/notes?sort=id${query}`)).body as Listed).data.map(
        (it) => it.attributes['title'],
      ),
    command: async (work: (dir: string) => Promise<void>) => {
      for (const [name, value] of Object.entries(changing().database.env)) vi.stubEnv(name, value);
      return printed(() => work(changing().dir));
    },
    drafts: async () =>
      Number((await changing().rows('select count(*) from notes where published_at is null'))[0]?.[0]),
  };
};

describe.each(dialects)('drafts switched off on %s', (dialect) => {
  const { changing, post, titles, command, drafts } = opened(dialect, true);
  const dryRun = { dryRun: true, publishDrafts: [uid] };

  it('DR10: the drafts stay hidden, and the start reports them', async () => {
    await post({ title: 'seen' });
    await post({ title: 'draft', publishedAt: null });
    await changing().start(note(false));
    expect(changing().warnings).toEqual([
      expect.stringMatching(
        /^api::note\.note: draftAndPublish is off .* holds 1 draft\. .*--publish-drafts api::note\.note/,
      ),
    ]);
    expect(await titles()).toEqual(['seen']);
    expect((await changing().server.get('/api/notes/2')).status).toBe(404);
    expect(await titles('&publicationState=preview')).toEqual(['seen', 'draft']);
    expect((await post({ title: 'new' })).status).toBe(200);
    expect(await titles()).toEqual(['seen', 'new']);
  });

  it('check --json gives their number', async () => {
    const { out } = await command((dir) => check(dir, { json: true }));
    expect(JSON.parse(out)).toMatchObject({ ok: false, drafts: [{ uid: 'api::note.note', count: 1 }] });
  });

  it('check reports them and fails', async () => {
    const { out } = await command((dir) => check(dir, { json: false }));
    expect(out).toContain(`\nStored differently than the schema files declare:\n  ${uid}: draftAndPublish is off`);
    expect(process.exitCode).toBe(1);
  });

  it.each(['api::memo.memo', 'api::noet.noet'])('only a type with such drafts can be named: %s', async (name) => {
    await expect(command((dir) => sync(dir, { dryRun: false, publishDrafts: [name] }))).rejects.toThrow(
      `--publish-drafts: "${name}" is not a type with drafts left from before draftAndPublish was switched off`,
    );
    expect(await drafts()).toBe(1);
  });

  it('sync --dry-run prints the statement, sync publishes', async () => {
    const { out } = await command((dir) => sync(dir, dryRun));
    expect(out).toMatch(/^update "notes" set published_at = .* where published_at is null; -- with /);
    expect(await drafts()).toBe(1);
    await command((dir) => sync(dir, { ...dryRun, dryRun: false }));
    expect(await drafts()).toBe(0);
  });

  it('then the type is served without drafts, and v4 sees no new rows as drafts', async () => {
    await changing().start({});
    expect(changing().warnings).toEqual([]);
    expect(await titles()).toEqual(['seen', 'draft', 'new']);
    const { body } = await post({ title: 'newer' });
    expect(Object.keys((body as { data: { attributes: Json } }).data.attributes)).not.toContain('publishedAt');
    expect(await drafts()).toBe(0);
    const { out } = await command((dir) => check(dir, { json: false }));
    expect(out).not.toContain('Stored in another way');
    expect(process.exitCode).toBeUndefined();
  });
});

describe.each(dialects)('drafts switched on on %s', (dialect) => {
  const { changing, post, titles, command } = opened(dialect, false);

  it('DR10: existing entries stay visible: they are published as of their creation, as in v4', async () => {
    await post({ title: 'one' });
    await post({ title: 'two' });
    await changing().run(
      `insert into strapi_core_store_settings ("key", value, type) values ('strapi_content_types_schema', '{"${uid}":{"kind":"collectionType","options":{"comment":""}},"api::memo.memo":{}}', 'object')`,
    );
    const { out } = await command((dir) => {
      writeNote();
      return sync(dir, { dryRun: true, publishDrafts: [] });
    });
    expect(out).toContain('update "notes" set published_at = created_at where published_at is null;\n');
    await changing().start({});
    expect(await titles()).toEqual(['one', 'two']);
    const { body } = await changing().server.get('/api/notes/1');
    const { createdAt, publishedAt } = (body as { data: { attributes: Json } }).data.attributes;
    expect(publishedAt).toBe(createdAt);
  });

  /** The file that the next start will use, for a command before it. */
  const writeNote = (): void => changing().write(note(true));

  it('new drafts stay drafts, also for v4, which would otherwise publish them', async () => {
    await post({ title: 'three', publishedAt: null });
    await changing().start({});
    expect(await titles()).toEqual(['one', 'two']);
    const [[map] = []] = await changing().rows(
      `select value from strapi_core_store_settings where "key" = 'strapi_content_types_schema'`,
    );
    expect(JSON.parse(String(map))).toEqual({
      [uid]: { kind: 'collectionType', options: { comment: '', draftAndPublish: true } },
      'api::memo.memo': {},
    });
  });
});
