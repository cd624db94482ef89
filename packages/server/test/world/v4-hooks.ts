/** Hooks around every write, as those of a v4 project that change nothing: components are written before them. */
import { plain } from '../../src/v4code/data/entities.js';
import type { HooksOf } from '../../src/write/request.js';
import { dialects, turnOf } from './databases.js';

type Open = Record<string, unknown>;

export const idleHooks: HooksOf = () => ({
  before: () => async (event) => {
    const { data, preview } = event;
    if (!data || !preview) return;
    const seen = plain(data) as Open;
    if ((await preview.complete(seen)) && (await preview.writeParts(seen))) await preview.take(plain(seen) as Open);
  },
  after: () => undefined,
});

const ofEntries: HooksOf = (request) => (request.type.kind === 'component' ? undefined : idleHooks(request));
const ofNested: HooksOf = (request) => (request.type.uid.endsWith('.card') ? undefined : idleHooks(request));

const hooked = [
  { title: 'behind hooks', people: { hooks: ofEntries } },
  { title: 'behind hooks, also of components', people: { hooks: idleHooks } },
  { title: 'behind hooks, also of components inside of others', people: { hooks: ofNested } },
];

/** How the writes of a test are made, and what the hooks are: without any on each database, with each kind on one. */
export const withAndWithoutHooks = dialects.flatMap((dialect) =>
  [{ title: 'without hooks', people: {} }, ...turnOf(dialect, hooked)].map((it) => ({ dialect, ...it })),
);
