/** `types`: writes the model as TypeScript. Reads no database. */
import fs from 'node:fs';
import path from 'node:path';
import { typescriptOf } from '../../describe/typescript.js';
import { makeFolder } from '../../folders.js';
import { openProject } from '../project.js';
import { StartFault, UsageFault } from '../start-fault.js';

/**
 * @param out the file to write; printed if it is null.
 * @param check only compares the file with the model, and fails if they differ.
 */
export const types = async (
  dir: string,
  { out, check }: { readonly out: string | null; readonly check: boolean },
): Promise<void> => {
  const { model } = await openProject(dir);
  const text = typescriptOf(model);
  if (out === null) {
    process.stdout.write(text);
    return;
  }
  if (fs.statSync(out, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageFault(`--out: ${out} is a folder. Name a file in it, such as ${path.join(out, 'schema.ts')}.`);
  const current = fs.existsSync(out) ? fs.readFileSync(out, 'utf8') : null;
  if (check) {
    if (current !== text) throw new StartFault(`${out} is not what the model says: run dovetail types --out ${out}`);
    return;
  }
  if (current === text) return;
  makeFolder(path.dirname(path.resolve(out)));
  fs.writeFileSync(out, text);
  process.stderr.write(`${out} written\n`);
};
