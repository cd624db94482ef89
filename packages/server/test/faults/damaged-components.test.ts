/** Damaged rows: a component that contains itself. v4 never stores one, but a request that meets one must end. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { dialects, files, useRelationsWorld } from '../world/relations/world.js';

describe.each(dialects)('a component that contains itself, on %s', (dialect) => {
  const world = useRelationsWorld(dialect);
  type Tree = { readonly id: number; readonly word: string; readonly branch?: Tree | null };
  const treeOf = async (holder: number, levels = 1): Promise<Tree> => {
    const populate = ['tree', ...Array<string>(levels).fill('branch')].join('.');
    return (await world.read(`/api/holders/${holder}?populate=${populate}`)).attributes['tree'] as unknown as Tree;
  };
  const link = (table: string, owner: number, uid: string, component: number, field: string): Promise<unknown> => {
    const { db } = world;
    const statement = db.dialect.compile(
      sql`insert into ${sql.table(table)} (entity_id, component_id, component_type, field) values (${db.dialect.bind('id', owner)}, ${db.dialect.bind('id', component)}, ${uid}, ${field})`,
    );
    return db.write((tx) => tx.run(statement));
  };
  /** `root` contains `leaf`, and `leaf` contains `root`. */
  const newCircle = async (): Promise<{ holder: number; root: Tree; leaf: Tree }> => {
    const holder = await world.create('holders', { tree: { word: 'root', branch: { word: 'leaf' } } });
    const root = await treeOf(holder);
    await link('components_parts_trees_components', root.branch!.id, 'parts.tree', root.id, 'branch');
    return { holder, root, leaf: root.branch! };
  };
  const trees = async (): Promise<readonly unknown[]> =>
    (await world.rows('components_parts_trees')).map((it) => it['word']);
  const treeRows = async () => ({
    trees: await trees(),
    links: await world.rows('components_parts_trees_components'),
  });

  it('reads show as many of its levels as were requested', async () => {
    const { holder } = await newCircle();
    const words: string[] = [];
    for (let tree: Tree | null | undefined = await treeOf(holder, 5); tree; tree = tree.branch) words.push(tree.word);
    expect(words).toEqual(['root', 'leaf', 'root', 'leaf', 'root', 'leaf']);
    await world.send('DELETE', `/api/holders/${holder}`);
  });

  it('deleting its entry deletes it', async () => {
    const rows = await treeRows();
    const { holder } = await newCircle();
    expect((await world.send('DELETE', `/api/holders/${holder}`)).status).toBe(200);
    expect(await treeRows()).toEqual(rows);
  });

  it('replacing it deletes it', async () => {
    const rows = await treeRows();
    const { holder } = await newCircle();
    await world.update('holders', holder, { tree: { word: 'new' } });
    expect(await trees()).toEqual([...rows.trees, 'new']);
    await world.update('holders', holder, { tree: null });
    expect(await treeRows()).toEqual(rows);
  });

  it('removing the inner one keeps the outer one that the request names', async () => {
    const { holder, root } = await newCircle();
    await world.update('holders', holder, { tree: { id: root.id, branch: null } });
    expect(await treeOf(holder)).toEqual({ id: root.id, word: 'root', branch: null });
    await world.update('holders', holder, { tree: null });
  });

  it('breaking the cycle repairs it', async () => {
    const { holder, root, leaf } = await newCircle();
    await world.update('holders', holder, { tree: { id: root.id, branch: { id: leaf.id, branch: null } } });
    expect(await treeOf(holder, 2)).toMatchObject({ word: 'root', branch: { word: 'leaf', branch: null } });
    await world.expectNoOrphans();
  });

  it('publishing checks each of its components once', async () => {
    const [book] = await world.createMany('books', 1);
    const complete = {
      title: 'Title',
      mark: 'abc',
      cards: [{ label: 'd' }],
      cover: files.picture,
      book,
      books: [book],
    };
    const card = { label: 'c', inner: { word: 'in' } };
    const zone = [{ __component: 'parts.note', text: 'x' }];
    const form = await world.create('forms', { ...complete, card, zone, publishedAt: null });
    const stored = await world.read(`/api/forms/${form}?populate[card][populate]=inner&publicationState=preview`);
    const { id, inner } = stored.attributes['card'] as unknown as { id: number; inner: { id: number } };
    await link('components_parts_inners_components', inner.id, 'parts.card', id, 'tiny');
    await world.update('forms', form, { publishedAt: new Date().toISOString() });
    expect((await world.read(`/api/forms/${form}`)).attributes['title']).toBe('Title');
  });
});
