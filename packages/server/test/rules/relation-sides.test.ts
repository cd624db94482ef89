/** Relations whose sides contradict each other, over HTTP: read and written as in v4 (ST3). */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check } from '../../src/cli/commands/check.js';
import { readRows } from '../../src/sql/dialect.js';
import { createTables, newDatabase, type TestDatabase } from '../world/databases.js';
import { printed } from '../world/printed.js';
import { contentType, type Json, modelOf, typeFile, writeFiles } from '../world/schemas.js';
import { newTestServer, type TestServer } from '../world/server.js';
import { dialects } from '../world/world.js';

const toMany = (target: string, changes: Json = {}): Json => ({
  type: 'relation',
  relation: 'manyToMany',
  target,
  ...changes,
});

const files = {
  [typeFile('category')]: contentType('category', {
    name: { type: 'string' },
    products: toMany('api::product.product', { inversedBy: 'categories' }),
    // no links are stored for this one
    offers: { type: 'relation', relation: 'oneToMany', target: 'api::product.product', mappedBy: 'offer' },
  }),
  // no kind: a collection
  [typeFile('product')]: contentType(
    'product',
    { name: { type: 'string' }, categories: toMany('api::category.category', { inversedBy: 'products' }) },
    { kind: undefined },
  ),
};

describe.each(dialects)('both sides of a relation say inversedBy, on %s', (dialect) => {
  let database: TestDatabase;
  let server: TestServer;
  beforeAll(async () => {
    const model = modelOf(files);
    database = await newDatabase(dialect);
    await createTables(database.db, model);
    server = await newTestServer(database.db, model, {}, undefined, { mode: 'open' });
    const make = (plural: string, name: string) => server.send('POST', `/api/${plural}`, { body: { data: { name } } });
    for (const name of ['c1', 'c2']) await make('categorys', name);
    for (const name of ['p1', 'p2', 'p3']) await make('products', name);
  });
  afterAll(async () => {
    await server.close();
    await database.drop();
  });

  const put = async (url: string, data: Json): Promise<void> => {
    expect((await server.send('PUT', url, { body: { data } })).status).toBe(200);
  };
  const linked = async (url: string, name: string): Promise<readonly number[]> => {
    const { body } = await server.get(`${url}?fields=id&populate[${name}][fields]=id`);
    const { data } = body as { data: { attributes: Record<string, { data: { id: number }[] }> } };
    return data.attributes[name]!.data.map((it) => it.id);
  };

  it('what one side writes, the other shows; the rows are those of the type that comes last', async () => {
    await put('/api/products/1', { categories: [2, 1] });
    await put('/api/categorys/1', { products: { connect: [3, 2] } });
    expect(await linked('/api/products/1', 'categories')).toEqual([2, 1]);
    expect(await linked('/api/categorys/1', 'products')).toEqual([1, 3, 2]);
    expect(await linked('/api/categorys/2', 'products')).toEqual([1]);
    expect(await linked('/api/products/3', 'categories')).toEqual([1]);
    const rows = await database.db.read(() =>
      readRows(
        database.db.dialect.compile(
          sql`select product_id, category_id from products_categories_links order by product_id, category_id`,
        ),
      ),
    );
    expect(rows).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });

  it('disconnecting from either side shows on both', async () => {
    await put('/api/products/2', { categories: [] });
    await put('/api/categorys/2', { products: [3] });
    expect(await linked('/api/categorys/1', 'products')).toEqual([1, 3]);
    expect(await linked('/api/products/3', 'categories')).toEqual([1, 2]);
    expect(await linked('/api/products/1', 'categories')).toEqual([1]);
  });

  it('filters use the same rows', async () => {
    const { body } = await server.get('/api/categorys?fields=id&filters[products][name]=p3&sort=id');
    expect((body as { data: { id: number }[] }).data.map((it) => it.id)).toEqual([1, 2]);
  });

  it('an attribute without links is left out, and populate=* works', async () => {
    const { status, body } = await server.get('/api/categorys/1?populate=*');
    expect(status).toBe(200);
    expect(Object.keys((body as { data: { attributes: Json } }).data.attributes).sort()).toEqual([
      'createdAt',
      'name',
      'products',
      'updatedAt',
    ]);
  });
});

describe('check', () => {
  it('reports the errors in schema files that do not prevent the start', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-sides-'));
    try {
      writeFiles(dir, files);
      const { out } = await printed(() => check(dir, { json: false }));
      const [, section] = out.split('Warnings:\n');
      expect(section?.split('\n').slice(0, 3)).toEqual([
        expect.stringContaining(`${typeFile('category')}: attributes.products.inversedBy: both sides say "inversedBy"`),
        expect.stringContaining(`${typeFile('category')}: attributes.offers.mappedBy: api::product.product has no`),
        expect.stringContaining(`${typeFile('product')}: kind: is missing; treated as "collectionType", as in v4`),
      ]);
    } finally {
      process.exitCode = undefined;
      fs.rmSync(dir, { recursive: true });
    }
  });
});
