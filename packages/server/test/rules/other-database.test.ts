/** A v4 project whose configuration names a database is never served with a new and empty one. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase, openProject } from '../../src/cli/project.js';
import { newFolder } from '../world/folders.js';

let dir: string;
beforeEach(() => {
  dir = newFolder();
  fs.mkdirSync(path.join(dir, 'config'));
  fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ dependencies: { '@strapi/strapi': '4.26.2' } }));
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL']) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  fs.rmSync(dir, { recursive: true });
});

const configure = (client: string, connection: object): void =>
  fs.writeFileSync(
    path.join(dir, 'config/database.js'),
    `module.exports = () => (${JSON.stringify({ connection: { client, connection } })});`,
  );

const withoutCode = (): void =>
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), '{ "project": { "runCode": false } }');

const open = async (): Promise<void> => {
  const db = await openDatabase(await openProject(dir));
  await db.close();
};
const isThere = (): boolean => fs.existsSync(path.join(dir, '.tmp/data.db'));

describe('ST1: the database of a v4 project', () => {
  it('is the one that its configuration names', async () => {
    configure('sqlite', { filename: path.join(dir, 'shop.db') });
    await open();
    expect([fs.existsSync(path.join(dir, 'shop.db')), isThere()]).toEqual([true, false]);
  });
});

describe('ST1: the database of a v4 project whose configuration is not read', () => {
  beforeEach(withoutCode);
  it('is not another one than its configuration names: a file that is there', async () => {
    fs.writeFileSync(path.join(dir, 'shop.db'), '');
    configure('sqlite', { filename: path.join(dir, 'shop.db') });
    await expect(open()).rejects.toThrow(/config\/database\.js names it[\s\S]*DATABASE_FILENAME=.*shop\.db/);
    expect(isThere()).toBe(false);
  });

  it('nor PostgreSQL, whose password is not printed', async () => {
    configure('postgres', { host: 'db.example', database: 'shop', user: 'shop', password: 'swordfish' });
    const refusal = await open().then(
      () => '',
      (fault: Error) => fault.message,
    );
    expect(refusal).toContain('DATABASE_HOST=db.example');
    expect(refusal).not.toContain('swordfish');
    expect(isThere()).toBe(false);
  });

  it('is none if it is MySQL', async () => {
    configure('mysql', { host: 'db.example' });
    await expect(open()).rejects.toThrow('MySQL');
    expect(isThere()).toBe(false);
  });

  it('is what the environment says, whatever the configuration', async () => {
    configure('mysql', { host: 'db.example' });
    vi.stubEnv('DATABASE_FILENAME', '.tmp/data.db');
    await open();
    expect(isThere()).toBe(true);
  });

  it('is begun if the configuration names it', async () => {
    configure('sqlite', { filename: path.join(dir, '.tmp/data.db') });
    await open();
    expect(isThere()).toBe(true);
  });
});

it('ST1: MySQL is refused by name', async () => {
  configure('mysql', { host: 'db.example' });
  await expect(open()).rejects.toThrow('MySQL');
  expect(isThere()).toBe(false);
});
