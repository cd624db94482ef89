import type { Handlers } from 'dovetail/handlers';

/** `Crème brûlée, twice` becomes `creme-brulee-twice`. */
const slugOf = (title: string): string | null => {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return words?.join('-') ?? null;
};

const handlers: Handlers = {
  /** A new post without a slug gets one. Hooks run in the transaction of the write. */
  beforeCreate: ({ data }) => {
    if (typeof data?.title === 'string') data.slug ??= slugOf(data.title);
  },
};

export default handlers;
