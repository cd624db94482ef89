/** The requests that are measured. The baselines implement only these, by the same names. */
import { articleBody, isDraft, listMove, longList } from './data.mjs';

const query = (parts) => parts.map((it) => it.replaceAll('[', '%5B').replaceAll(']', '%5D')).join('&');
const fields = (place, ...names) => names.map((name, i) => `${place}[fields][${i}]=${name}`);

const author = 'populate[author]';
const zone = 'populate[zone][on]';
/** Three levels: author > articles > cover, seo > socials > image, zone > quote > person > avatar. */
const tree = query([
  'fields[0]=title',
  'fields[1]=slug',
  'fields[2]=publishedOn',
  'fields[3]=views',
  ...fields(author, 'name', 'slug'),
  ...fields(`${author}[populate][avatar]`, 'url', 'alternativeText'),
  ...fields(`${author}[populate][articles]`, 'title', 'views'),
  `${author}[populate][articles][filters][featured][$eq]=true`,
  `${author}[populate][articles][sort][0]=views:desc`,
  ...fields(`${author}[populate][articles][populate][cover]`, 'url', 'formats'),
  ...fields('populate[categories]', 'name', 'slug'),
  'populate[categories][sort][0]=name:asc',
  ...fields('populate[comments]', 'nickname', 'body', 'postedAt'),
  'populate[comments][filters][approved][$eq]=true',
  'populate[comments][sort][0]=postedAt:desc',
  'populate[cover]=true',
  'populate[seo][populate][socials][populate][image][fields][0]=url',
  ...fields(`${zone}[sections.text]`, 'heading', 'body'),
  ...fields(`${zone}[sections.quote]`, 'text'),
  ...fields(`${zone}[sections.quote][populate][person]`, 'name'),
  ...fields(`${zone}[sections.quote][populate][person][populate][avatar]`, 'url'),
  ...fields(`${zone}[sections.pictures][populate][pictures]`, 'url', 'formats'),
  ...fields(`${zone}[sections.teasers][populate][articles]`, 'title'),
  `${zone}[sections.teasers][populate][articles][sort][0]=title:asc`,
]);

/** The category in the fifth request; every data set has articles in it. */
export const filteredCategory = 'category-7';
export const filteredPage = (page) =>
  `/api/articles?${query([
    `filters[categories][slug][$eq]=${filteredCategory}`,
    'sort[0]=views:desc',
    `pagination[page]=${page}`,
  ])}`;

/**
 * @typedef {{ name: string, about: string, url: (turn: number) => string }} BenchRequest
 *   `url` may differ from turn to turn.
 */

/** @param lastPage of the filtered list. @returns {BenchRequest[]} */
export const requestsFor = ({ articles, lastPage }) => {
  const ids = randomIds(articles);
  const page = Math.min(200, lastPage);
  return [
    { name: 'list', about: 'default list', url: () => '/api/articles' },
    { name: 'star', about: 'list, populate=*', url: () => '/api/articles?populate=*' },
    { name: 'tree', about: 'list, a tree of three levels', url: () => `/api/articles?${tree}` },
    {
      name: 'one',
      about: 'entry by id, the same tree',
      url: (turn) => `/api/articles/${ids[turn % ids.length]}?${tree}`,
    },
    { name: 'page', about: `filter through a relation, sort, page ${page}`, url: () => filteredPage(page) },
  ];
};

/** Fewer entries than a page holds, which need not be counted: for equal values, the server remembers their number. */
const few = 'filters[id][$lt]=20';

/**
 * Requests with a value that does not change what they answer.
 * @type {{ name: string, urlFor: (value: number) => string }[]}
 */
export const newValueRequests = [
  { name: 'filter of a list', urlFor: (value) => `/api/articles?${few}&filters[views][$gte]=-${value + 1}` },
  {
    name: 'filter of populate=*',
    urlFor: (value) => `/api/articles?populate=*&${few}&filters[views][$gte]=-${value + 1}`,
  },
  {
    name: 'filter inside a tree',
    urlFor: (value) => `/api/articles?${tree}&${author}[filters][id][$lt]=${1e6 + value}`,
  },
];

/**
 * Requests that change the data; no two turns ask for the same.
 * @typedef {{
 *   name: string, about: string, request: (turn: number) => import('./client.mjs').ClientRequest,
 *   connections: number, perSlice: number, readers: object | null,
 * }} BenchWrite
 */

/** @returns {BenchWrite[]} */
export const writesFor = ({ articles }) => {
  const [list, , , one] = requestsFor({ articles, lastPage: 1 });
  const connect = (id, position) => ({
    method: 'PUT',
    path: `/api/categories/${longList.category}`,
    body: { data: { articles: { connect: [{ id, position }] } } },
  });
  const oneByOne = { connections: 1, perSlice: 60, readers: null };
  const half = (articles - longList.articles) >> 1;
  return [
    {
      name: 'create',
      about: 'relations, components, media, zone',
      request: (turn) => ({ method: 'POST', path: '/api/articles', body: articleBody(turn, articles) }),
      connections: 4,
      perSlice: 100,
      // a hundred reads a second at most, alternating between lists and entries
      readers: { connections: 2, pauseMs: 20, requestFor: (turn) => (turn % 2 === 0 ? list : one).url(turn) },
    },
    {
      name: 'connect',
      about: `into a list of ${longList.articles}, before one of it`,
      request: (turn) => {
        const { id, before } = listMove(turn, articles);
        return connect(id, { before });
      },
      ...oneByOne,
    },
    {
      name: 'append',
      about: `to the end of a list of ${longList.articles}`,
      request: (turn) => connect(listMove(turn + half, articles).id, { end: true }),
      ...oneByOne,
    },
  ];
};

/** Published articles spread over the data, the same in every run. */
const randomIds = (articles) => {
  let state = 20_240_501;
  const ids = [];
  while (ids.length < 5000) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const id = 1 + Math.floor((state / 2 ** 32) * articles);
    if (!isDraft(id)) ids.push(id);
  }
  return ids;
};
