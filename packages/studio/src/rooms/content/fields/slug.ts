/** The text of a uid that is made from another attribute. */

/** Letters that no decomposition turns into ASCII. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ø: 'o',
  œ: 'oe',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Empty for texts without a Latin letter or digit. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[ßæäöüøœłđðþı]/g, (it) => letters[it] ?? it)
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/['’]/g, '')
    .replace(/&/g, ' and ')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** The first of `slug`, `slug-1`, `slug-2`, … that is not taken. */
export const freeSlug = (slug: string, taken: readonly string[]): string => {
  const used = new Set(taken);
  if (!used.has(slug)) return slug;
  for (let i = 1; ; i++) if (!used.has(`${slug}-${i}`)) return `${slug}-${i}`;
};
