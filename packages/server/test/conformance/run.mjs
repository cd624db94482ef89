/**
 * Plays the recorded cases of the conformance kit against dist/, on SQLite and on PostgreSQL.
 * The kit lies beside the checkout (`../shared/conformance`) or where CONFORMANCE_KIT says; PostgreSQL is started here,
 * unless POSTGRES_URL names a server on which databases may be created. Other arguments go to the kit's runner.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../world/postgres.ts';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const kit = path.resolve(process.env.CONFORMANCE_KIT ?? path.join(root, '../../../shared/conformance'));
if (!fs.existsSync(path.join(kit, 'run.mjs'))) {
  console.error(`There is no conformance kit in ${kit}. Set CONFORMANCE_KIT to its folder.`);
  process.exit(2);
}

const play = (...args) =>
  new Promise((resolve) => {
    const start = `node ${path.join(root, 'dist/cli/main.js')} start --project "$PROJECT_DIR"`;
    const all = [
      path.join(kit, 'run.mjs'),
      '--start',
      start,
      '--overlay',
      path.join(here, 'overlay'),
      ...args,
      ...process.argv.slice(2),
    ];
    spawn(process.execPath, all, { stdio: 'inherit' }).on('close', (code) => resolve(code ?? 1));
  });

console.log('SQLite');
const sqlite = await play();
const given = process.env.POSTGRES_URL;
const server = given ? null : await startPostgres();
console.log('\nPostgreSQL');
const postgres = await play('--postgres', given ?? server.url);
await server?.stop();
process.exit(sqlite || postgres);
