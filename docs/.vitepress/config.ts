/** The site of the documentation: `npm run docs:dev`, `npm run docs:build`. Nothing in it is fetched from elsewhere. */
import fs from 'node:fs';
import path from 'node:path';
import { type DefaultTheme, defineConfig } from 'vitepress';

const docs = path.join(import.meta.dirname, '..');

/** Headings of README.md in bold, and the list below each: the order of the pages on the site. */
const sidebar = (): DefaultTheme.SidebarItem[] => {
  const groups: DefaultTheme.SidebarItem[] = [];
  for (const line of fs.readFileSync(path.join(docs, 'README.md'), 'utf8').split('\n')) {
    const [, group] = /^\*\*(.+)\*\*$/.exec(line) ?? [];
    const [, text, link] = /^- \[(.+?)\]\(([\w-]+)\.md\)/.exec(line) ?? [];
    if (line.startsWith('## ')) break;
    if (group) groups.push({ text: group, items: [] });
    else if (text && link) groups.at(-1)!.items!.push({ text, link: `/${link}` });
  }
  return [...groups, { text: 'Rules', collapsed: true, items: rules() }];
};

const rules = (): DefaultTheme.SidebarItem[] => [
  { text: 'All rules', link: '/rules/' },
  ...fs
    .readdirSync(path.join(docs, 'rules'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => name.replace('.md', ''))
    .map((name) => ({ text: name[0]!.toUpperCase() + name.slice(1), link: `/rules/${name}` })),
];

/** Where links go on the site: those out of this folder are for readers of the repository. */
const siteLink = (href: string, page: string): string | null => {
  if (/^(?:\w+:|#)/.test(href)) return href;
  const target = path.posix.join(path.posix.dirname(page), href);
  return target.startsWith('..') ? null : href.replace(/(^|\/)README\.md/, '$1index.md');
};

export default defineConfig({
  title: 'Dovetail',
  description: 'A content API server',
  lang: 'en',
  // no request for an icon
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcExclude: ['rules/files/**'],
  rewrites: { 'README.md': 'index.md', 'rules/README.md': 'rules/index.md' },
  cleanUrls: false,
  markdown: {
    // pages are Markdown alone: `<token>` is a text
    html: false,
    // as code hosts make them
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-'),
    },
    config: (md) => {
      md.core.ruler.push('site-links', ({ tokens, env }) => {
        for (const { children } of tokens)
          for (const [i, token] of (children ?? []).entries()) {
            if (token.type !== 'link_open') continue;
            const href = siteLink(token.attrGet('href') ?? '', env.relativePath as string);
            if (href !== null) token.attrSet('href', href);
            else {
              const close = children!.findIndex((it, at) => at > i && it.type === 'link_close');
              for (const it of [token, children![close]!]) Object.assign(it, { type: 'text', content: '', tag: '' });
            }
          }
      });
    },
  },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
});
