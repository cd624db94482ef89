/** The files of a v4 project: where they are, and their texts. */
import fs from 'node:fs';
import path from 'node:path';

export const textOf = (projectDir: string, file: string): string =>
  fs.readFileSync(path.join(projectDir, file), 'utf8');

/** Folders in which v4 reads JSON as it reads code. */
const withJson = /^config(\/|$)|^src\/api\/[^/]+\/(routes|config)$/;

export const isCode = (name: string): boolean => /\.[cm]?[jt]s$/.test(name) && !/\.(?:d|test)\.[cm]?ts$/.test(name);

/** What a folder holds; nothing if it is not there, or must not be read. */
export const listed = (dir: string): readonly fs.Dirent[] => {
  try {
    return fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory()
      ? fs.readdirSync(dir, { withFileTypes: true })
      : [];
  } catch (fault) {
    // such as the files of a database beside the project
    if ((fault as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw fault;
  }
};

export const skipped = (name: string): boolean => name.startsWith('.') || name === 'node_modules';

/** Files at a place given by its steps. `*`: any folder; `#`: any code file; `##`: any code file at any depth; else a name, without extension. */
export const filesAt = (root: string, [step = '', ...rest]: readonly string[], at = ''): readonly string[] => {
  const entries = listed(path.join(root, at)).filter((it) => !skipped(it.name));
  const place = (name: string): string => (at === '' ? name : `${at}/${name}`);
  const isRead = (name: string): boolean => isCode(name) || (withJson.test(at) && name.endsWith('.json'));
  const files = entries.filter((it) => it.isFile() && isRead(it.name)).map((it) => it.name);
  const folders = entries.filter((it) => it.isDirectory()).map((it) => it.name);
  if (step === '#') return files.map(place);
  if (step === '##') return [...files.map(place), ...folders.flatMap((it) => filesAt(root, ['##'], place(it)))];
  if (rest.length === 0) return files.filter((it) => it.replace(/\.[cm]?[jt]s$/, '') === step).map(place);
  return folders.filter((it) => step === '*' || it === step).flatMap((it) => filesAt(root, rest, place(it)));
};

/** Folders at a place in which `*` is any folder. */
export const foldersAt = (root: string, place: string): readonly string[] =>
  place.split('/').reduce<readonly string[]>(
    (found, step) =>
      found.flatMap((at) =>
        listed(path.join(root, at))
          .filter((it) => it.isDirectory() && !skipped(it.name) && (step === '*' || it.name === step))
          .map((it) => (at === '' ? it.name : `${at}/${it.name}`)),
      ),
    [''],
  );
