/** ST15: custom fields of plugins are stored and served as the type that their plugin registers. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProject } from '../../src/cli/project.js';
import { scalarTypeNames } from '../../src/model/attributes.js';
import { knownCustomFields } from '../../src/model/custom-fields.js';
import { openedForTests } from '../world/opening.js';
import { contentType, type Json, typeFile, writeFiles } from '../world/schemas.js';
import { newSmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const custom = (customField: string, rules: Json = {}): Json => ({ type: 'customField', customField, ...rules });

describe.each(dialects)('custom fields on %s', (dialect) => {
  const attributes = {
    title: { type: 'string' },
    colour: custom('plugin::color-picker.color', { regex: '^#[0-9a-f]{6}$', default: '#000000' }),
    body: custom('plugin::ckeditor5.CKEditor', { options: { preset: 'toolbar' }, minLength: 3 }),
    sizes: custom('plugin::multi-select.multi-select', { options: ['S:small', 'M'] }),
    key: custom('plugin::field-uuid.uuid'),
  };
  const world = openedForTests(() => newSmallWorld(dialect, { types: { shirt: { attributes } } }));
  const values = { colour: '#00ff7f', body: '<p>Hello</p>', sizes: ['S', 'M'], key: 'a-key' };

  it('ST15: they are written, read, filtered and sorted as attributes of their type', async () => {
    const created = await world.send('POST', '/api/shirts', { data: { title: 'a', ...values } });
    expect(created.body).toMatchObject({ data: { attributes: { title: 'a', ...values } } });
    await world.send('POST', '/api/shirts', { data: { title: 'b' } });
    const found = await world.send(
      'GET',
      '/api/shirts?fields[0]=colour&fields[1]=sizes&sort=colour:desc&filters[colour][$ne]=x',
    );
    expect((found.body as { data: unknown }).data).toEqual([
      { id: 1, attributes: { colour: '#00ff7f', sizes: ['S', 'M'] } },
      { id: 2, attributes: { colour: '#000000', sizes: null } },
    ]);
  });

  it('ST15: the rules of the schema file and of the type apply', async () => {
    const { status, body } = await world.send('POST', '/api/shirts', {
      data: { colour: 'red', body: '<', key: 'a-key' },
    });
    expect(status).toBe(400);
    const { errors } = (body as { error: { details: { errors: readonly { path: unknown; code: string }[] } } }).error
      .details;
    expect(errors.map((it) => [it.path, it.code])).toEqual([
      [['colour'], 'body.regex'],
      [['body'], 'body.min-length'],
      [['key'], 'body.unique'],
    ]);
  });

  it('ST15: the columns are those of the type', async () => {
    const columns = world.model.types.get('api::shirt.shirt')!.attributes;
    expect(Object.keys(attributes).map((name) => columns.get(name))).toMatchObject([
      { type: 'string', column: 'title' },
      { type: 'string', column: 'colour' },
      { type: 'richtext', column: 'body' },
      { type: 'json', column: 'sizes' },
      { type: 'uid', column: 'key' },
    ]);
  });
});

describe('custom fields of the configuration', () => {
  let dir = '';
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-custom-'));
  });
  afterEach(() => fs.rmSync(dir, { recursive: true }));

  const typesWith = async (customFields: Readonly<Record<string, string>>): Promise<unknown> => {
    writeFiles(dir, {
      [typeFile('film')]: contentType('film', {
        stars: custom('plugin::score.stars'),
        own: custom('global::own'),
        colour: custom('plugin::color-picker.color'),
      }),
      'dovetail.config.json': { customFields },
    });
    const { model } = await openProject(dir);
    const { attributes } = model.types.get('api::film.film')!;
    return ['stars', 'own', 'colour'].map((name) => {
      const attribute = attributes.get(name);
      return attribute?.kind === 'scalar' ? attribute.type : null;
    });
  };

  it('ST15: others are named there, and may differ from those that are known', async () => {
    const types = { 'plugin::score.stars': 'integer', 'global::own': 'text', 'plugin::color-picker.color': 'json' };
    expect(await typesWith(types)).toEqual(['integer', 'text', 'json']);
    expect(await typesWith({ 'plugin::score.stars': 'integer', 'global::own': 'text' })).toEqual([
      'integer',
      'text',
      'string',
    ]);
  });

  it('ST15: the start names each one that is missing, with the line to add', async () => {
    await expect(typesWith({})).rejects.toThrow(
      /attributes\.stars\.customField: .*customFields: \{ "plugin::score\.stars": "string" \}\n.*customFields: \{ "global::own": "string" \}/,
    );
  });

  it('ST15: the table holds names of plugins and types of attributes', () => {
    for (const [name, type] of Object.entries(knownCustomFields)) {
      expect(name).toMatch(/^plugin::[a-z\d-]+\.[\w-]+$/);
      expect(scalarTypeNames).toContain(type);
    }
  });
});
