/** RQ21: the API describes itself, for the rights of the caller. Responses are compared with it in `test/conformance`. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { newMagazine, token } from '../world/magazine.js';
import { openedForTests } from '../world/opening.js';
import { newTestServer } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
  };
}

describe.each(dialects)('RQ21 on %s', (dialect) => {
  const magazine = openedForTests(() => newMagazine(dialect));
  const documentFor = async (authorization: string): Promise<Document> => {
    const { status, body } = await magazine.send('GET', '/api/openapi.json', { headers: { authorization } });
    expect(status).toBe(200);
    return body as Document;
  };

  it.each([
    ['anybody', ''],
    ['a token that may do everything', `Bearer ${token}`],
  ])('RQ21 for %s it is valid OpenAPI 3.1', async (_who, authorization) => {
    const document = await documentFor(authorization);
    expect(await new Validator().validate(document as never)).toMatchObject({ valid: true });
  });

  it('RQ21 it has the actions that the caller may perform, and no others', async () => {
    const anybody = await documentFor('');
    expect(Object.keys(anybody.paths['/api/articles'] ?? {})).toEqual(['get']);
    expect(anybody.paths['/api/users']).toBeUndefined();
    const everything = await documentFor(`Bearer ${token}`);
    expect(Object.keys(everything.paths['/api/articles'] ?? {})).toEqual(['get', 'post']);
    expect(Object.keys(everything.paths['/api/articles/{id}'] ?? {})).toEqual(['parameters', 'get', 'put', 'delete']);
    expect(Object.keys(everything.paths['/api/articles/{id}/localizations'] ?? {})).toEqual(['parameters', 'post']);
    expect(Object.keys(everything.paths['/api/users'] ?? {})).toEqual(['get', 'post']);
  });

  it('RQ21 its server is the public URL, below which a proxy serves all paths', async () => {
    const world = await newSmallWorld(dialect, { types: { note: { attributes: { text: { type: 'string' } } } } });
    const serverOf = async (settings: { readonly publicUrl?: string }): Promise<unknown> => {
      const server = await newTestServer(world.db, world.model, settings, undefined, { mode: 'open' });
      const { body } = await server.get('/api/openapi.json');
      await server.close();
      return (body as { servers: unknown }).servers;
    };
    expect(await serverOf({})).toEqual([{ url: '/' }]);
    expect(await serverOf({ publicUrl: 'https://a.example/cms' })).toEqual([{ url: 'https://a.example/cms' }]);
    await world.close();
  });

  it('RQ21 it names what the caller may see', async () => {
    const attributesOf = ({ components }: Document, name: string): readonly string[] => {
      const { attributes } = components.schemas[name]!.properties as { attributes: { properties: object } };
      return Object.keys(attributes.properties);
    };
    const document = await documentFor('');
    expect(attributesOf(document, 'Author')).toEqual([
      ...['name', 'slug', 'bio', 'createdAt', 'updatedAt', 'articles', 'portrait', 'links', 'mentor', 'apprentices'],
    ]);
    await magazine.query("update up_permissions set action = 'x' where action = 'api::category.category.find'");
    await expect
      .poll(async () => attributesOf(await documentFor(''), 'Article'), { timeout: 10_000 })
      .not.toContain('categories');
  });

  it('RQ21 the page for people has the same, as HTML that nothing of the project can break out of', async () => {
    const { status, text, headers } = await magazine.send('GET', '/api/reference');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).toContain('<code>/api/articles/{id}</code>');
    expect(text).not.toMatch(/<script|\son\w+=/i);
  });

  it('RQ21 an unknown token is refused', async () => {
    const { status } = await magazine.send('GET', '/api/openapi.json', { headers: { authorization: 'Bearer x' } });
    expect(status).toBe(401);
  });
});
