// Puts a copy in the place of a database and kills itself before the given rename: node killed-restore.mjs FILE COPY ASIDE RENAME
import fs from 'node:fs';
import { replaceDatabase } from '../../dist/sql/sqlite/backup.js';

const [file, copy, aside, at] = process.argv.slice(2);
const { renameSync } = fs;
let renames = 0;
fs.renameSync = (from, to) => {
  renames += 1;
  if (renames === Number(at)) process.kill(process.pid, 'SIGKILL');
  renameSync(from, to);
};
replaceDatabase(file, copy, aside);
