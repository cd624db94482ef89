/** `dovetail dev` says which permission a request lacked. */
import fs from 'node:fs';
import { expect, it } from 'vitest';
import { newDatabase } from '../world/databases.js';
import { startDev } from '../world/dev.js';
import { newFolder } from '../world/folders.js';
import { contentType, typeFile, writeFiles } from '../world/schemas.js';

it('AC5: a 403 is said once for each permission, with the command that allows it', async () => {
  const dir = newFolder();
  const database = await newDatabase('sqlite');
  writeFiles(dir, {
    'package.json': { type: 'module' },
    [typeFile('post')]: contentType('post', { title: { type: 'string' } }),
  });
  const dev = await startDev(dir, database.env);
  try {
    for (let i = 0; i < 3; i++) expect(await dev.get('/api/posts')).toMatchObject({ status: 403 });
    expect(await dev.send('POST', '/api/posts', { data: { title: 'x' } })).toMatchObject({ status: 403 });
    await dev.said('api::post.post.create');
    const said = dev.lines.map((line) => line.msg).filter((msg) => msg.startsWith('403'));
    expect(said).toEqual(
      ['find', 'create'].map(
        (it) =>
          `403: the role public may not api::post.post.${it}; to allow it: dovetail role allow public api::post.post.${it}`,
      ),
    );
  } finally {
    await dev.stop();
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  }
});
