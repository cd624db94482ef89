/**
 * What the two baselines share: the JSON of the benchmark's entries as hand-written SQL, and a minimal HTTP server.
 * They know the requests of requests.mjs and the project in bench/project, and nothing else.
 */
import http from 'node:http';
import { newUpload } from './baseline-uploads.mjs';
import { filteredPage, requestsFor } from './requests.mjs';

// ---- JSON as SQL; concatenating texts is faster on both databases than nesting JSON functions

const literal = (text) => `'${text.replaceAll("'", "''")}'`;

/** Several expressions as one text; adjacent literals are merged. */
export const concat = (...parts) => {
  const joined = [];
  for (const part of parts) {
    const isLiteral = (sql) => /^'[^']*'$/.test(sql ?? '');
    if (isLiteral(part) && isLiteral(joined.at(-1))) joined.push(joined.pop().slice(0, -1) + part.slice(1));
    else joined.push(part);
  }
  return joined.length === 1 ? joined[0] : `concat(${joined.join(', ')})`;
};

const members = (pairs) =>
  Object.entries(pairs).flatMap(([key, value], i) => [literal(`${i > 0 ? ',' : ''}"${key}":`), value]);

/** The inside of an object, without its braces. */
export const inside = (pairs) => concat(...members(pairs));
/** @param end what follows the last pair; without the closing braces if JavaScript appends to the text. */
export const entry = (e, pairs, end = '}}') =>
  concat(literal('{"id":'), `${e}.id`, literal(',"attributes":{'), ...members(pairs), literal(end));
export const part = (e, pairs, end = '}') =>
  concat(literal('{'), ...members({ id: `${e}.id`, ...pairs }), literal(end));
/** An element of the zone. */
export const element = (e, uid, pairs, end) => part(e, { __component: literal(`"${uid}"`), ...pairs }, end);
export const data = (value) => concat(literal('{"data":'), value, literal('}'));

/**
 * The attributes of every type, as functions of a table alias.
 * @param as how the database writes a column as JSON, one function of the column for each form; NULL is `null`.
 */
export const attributesOf = (as) => {
  const typed = (...attributes) => {
    const parsed = attributes.flatMap((it) => it.split(' ')).map((it) => it.split(':'));
    const column = (name) => name.replace(/[A-Z]/g, (it) => `_${it.toLowerCase()}`);
    /** @param names the attributes to include; all by default. */
    return (e, ...names) =>
      Object.fromEntries(
        parsed
          .filter(([name]) => names.length === 0 || names.includes(name))
          .map(([name, form]) => [name, as[form](`${e}.${column(name)}`)]),
      );
  };
  const stamps = 'createdAt:instant updatedAt:instant';
  return {
    article: typed(
      'title:text slug:text summary:text body:text kind:text contact:text views:number reads:digits rating:number',
      'price:number featured:boolean publishedOn:date opensAt:time eventAt:instant syncedAt:epoch details:json',
      stamps,
      'publishedAt:instant',
    ),
    author: typed('name:text slug:text bio:text', stamps),
    category: typed('name:text slug:text description:text', stamps),
    comment: typed('nickname:text body:text approved:boolean postedAt:instant', stamps),
    file: typed(
      'name:text alternativeText:text caption:text width:number height:number formats:json hash:text ext:text',
      'mime:text size:number url:text previewUrl:text provider:text provider_metadata:json',
      stamps,
    ),
    seo: typed('metaTitle:text metaDescription:text keywords:json'),
    social: typed('network:text title:text'),
    text: typed('heading:text body:text'),
    quote: typed('text:text source:text'),
    pictures: typed('caption:text layout:text'),
    teasers: typed('heading:text'),
  };
};

/** Rows of a page. */
export const pageSize = 25;
export const pagination = (page, total) =>
  `{"pagination":{"page":${page},"pageSize":${pageSize},"pageCount":${Math.ceil(total / pageSize)},"total":${total}}}`;

// ---- bodies of writes, validated as far as the database does not

const kinds = ['essay', 'report', 'interview', 'notes'];
const elements = ['sections.text', 'sections.quote'];
const isList = (value) => Array.isArray(value);

/** The data of a new article as sent; null if it is invalid. */
export const articleOf = (body) => {
  const { data } = body;
  const isRight =
    typeof data?.title === 'string' &&
    data.title !== '' &&
    kinds.includes(data.kind) &&
    isList(data.categories) &&
    isList(data.gallery) &&
    isList(data.seo?.socials) &&
    isList(data.zone) &&
    data.zone.every((it) => elements.includes(it.__component));
  return isRight ? data : null;
};

/** The one article to connect to a list, and the article that it is placed before; null for the end. */
export const moveOf = (body) => {
  const move = body.data?.articles?.connect?.[0];
  if (!Number.isInteger(move?.id)) return null;
  const { before = null } = move.position ?? {};
  return before === null || (Number.isInteger(before) && before !== move.id) ? { id: move.id, before } : null;
};

/** How long lists are ranked, as in src/write/order.ts: integers, spread again when there is no room between two. */
export const spread = { from: 2 ** 29, width: 2 ** 30, min: 2 ** 20, endStep: 2 ** 12 };

// ---- HTTP

/**
 * Serves the requests by their URLs.
 * @param answer gives the body for a request's name and its number, an id or a page: a buffer, or a text whose
 *   characters are the bytes of the body; null where there is none.
 * @param writer `create(data, text)` and `connect(category, move)` give the body of what they have written; null where
 *   it does not exist; `file(row)` gives the id. What the database refuses they throw.
 */
export const serve = (port, answer, writer) => {
  const [list, star, tree, one] = requestsFor({ articles: 1, lastPage: 1 }).map((it) => it.url(0));
  const names = new Map([
    [list, 'list'],
    [star, 'star'],
    [tree, 'tree'],
  ]);
  const pageStart = filteredPage('');
  const oneEnd = one.slice(one.indexOf('?'));
  const route = (url) => {
    const name = names.get(url);
    if (name !== undefined) return [name, 0];
    if (url.startsWith(pageStart)) return ['page', Number(url.slice(pageStart.length))];
    return url.endsWith(oneEnd) ? ['one', Number(url.slice('/api/articles/'.length, -oneEnd.length))] : null;
  };
  const send = (response, status, body) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
    response.end(body, 'latin1');
  };
  const write = async ({ method, url }, text) => {
    const body = JSON.parse(text);
    if (method === 'POST' && url === '/api/articles') {
      const data = articleOf(body);
      return data && writer.create(data, text);
    }
    const [, category] = /^\/api\/categories\/(\d+)$/.exec(url) ?? [];
    const move = method === 'PUT' && category !== undefined ? moveOf(body) : null;
    return move && writer.connect(Number(category), move);
  };
  const upload = newUpload(writer.file);
  const server = http.createServer(async (request, response) => {
    if (request.method === 'POST' && request.url === '/api/upload')
      return send(response, 200, Buffer.from(await upload(request)));
    if (request.method !== 'GET') {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (part) => {
        text += part;
      });
      request.on('end', async () => {
        try {
          const body = await write(request, text);
          if (body) send(response, 200, body);
          else send(response, 400, '{"error":"refused"}');
        } catch (fault) {
          send(response, 400, JSON.stringify({ error: fault.message }));
        }
      });
      return undefined;
    }
    const found = route(request.url);
    const body = found && (await answer(...found));
    if (body) return send(response, 200, body);
    response.statusCode = request.url === '/_health' ? 204 : 404;
    return response.end();
  });
  server.keepAliveTimeout = 72_000;
  server.listen(port, '127.0.0.1');
};
