/** Links between pages of the repository lead somewhere, and every page of the documentation can be found. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../../../..');

const pagesIn = (dir: string): readonly string[] =>
  fs
    .readdirSync(path.join(root, dir))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.posix.join(dir, name));

const packages = fs.readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}`);
const pages = ['.', 'docs', 'docs/rules', 'examples/magazine', ...packages].flatMap(pagesIn);

const textOf = (page: string): string =>
  fs
    .readFileSync(path.join(root, page), 'utf8')
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));

/** Anchors of headings as code hosts make them. */
const anchorsOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

const linksOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((it) => !/^\w+:/.test(it));

describe('links', () => {
  it.each(pages)('%s has no dead ones', (page) => {
    const dead = linksOf(page).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      if (!fs.existsSync(path.join(root, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it('docs/README.md lists every page, which makes the navigation of the site', () => {
    const index = textOf('docs/README.md');
    const isListed = (page: string): boolean =>
      new RegExp(`^- \\[[^\\]]+\\]\\(${path.basename(page)}\\)`, 'm').test(index);
    expect(pagesIn('docs').filter((page) => page !== 'docs/README.md' && !isListed(page))).toEqual([]);
  });
});
