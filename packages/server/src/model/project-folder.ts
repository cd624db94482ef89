/** Tells a project by its folder. Nothing heavy is imported here: the command line asks before it loads anything. */
import fs from 'node:fs';
import path from 'node:path';

/** Of which a project has one at most. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'json'].map((it) => `dovetail.config.${it}`);

const signs = ['package.json', 'src', 'config', ...configNames];

/** Whether it may be one, also without content types. Other folders must not get a database and secrets. */
export const isProjectFolder = (dir: string): boolean => signs.some((it) => fs.existsSync(path.join(dir, it)));
