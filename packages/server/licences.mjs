/** The licences of packages whose code is bundled: they ask to be passed on. */
import fs from 'node:fs';
import path from 'node:path';

/** @param modules files of a bundle; those of packages are told by their paths. */
export const licencesOf = (modules) => {
  const folders = new Set(
    modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replace(/^\0/, ''))?.[0]).filter(Boolean),
  );
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
      const file = fs.readdirSync(folder).find((it) => /^licen[cs]e/i.test(it));
      const text = file ? fs.readFileSync(path.join(folder, file), 'utf8').trim() : `Licence: ${license}`;
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
};
