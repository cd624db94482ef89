/** Tells a project by its folder. Nothing heavy is imported here: the command line asks before it loads anything. */
import fs from 'node:fs';
import path from 'node:path';

const signs = [
  'package.json',
  'src',
  'config',
  'dovetail.config.ts',
  'dovetail.config.js',
  'dovetail.config.mjs',
  'dovetail.config.json',
];

/** Whether it may be one, also without content types. Other folders must not get a database and secrets. */
export const isProjectFolder = (dir: string): boolean => signs.some((it) => fs.existsSync(path.join(dir, it)));
