/**
 * Runs a compiled plan: a program of batches for `Db.read`, so that one answer comes from one snapshot. Each round
 * fetches, for every node, the entries and links of the ids found in the previous round.
 */
import { bug, issue, never, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import {
  type Binding,
  type DbValue,
  type ReadProgram,
  type Rows,
  type Statement,
  withIds,
  withValues,
} from '../sql/dialect.js';
import { byteText, type Joined, numbersIn, rowsIn, UNRENDERED } from './joined.js';
import type { PlanNode, ReadShape } from './plan.js';
import type { CompiledIds, CompiledNode, CompiledRead, JoinedEntries } from './statements.js';
import type { UnitedKind } from './united.js';

/** Input of `assemble`. */
export interface ReadData {
  /** Ids of the page in order. */
  readonly page: readonly number[];
  /** The page's entries as one statement has rendered and joined them, and the bytes of each; null if they are in the nodes. */
  readonly whole: { readonly texts: Uint8Array; readonly sizes: readonly number[] } | null;
  /** For a response with one entry: the time of its last change, in epoch milliseconds as text. */
  readonly version: string | null;
  /** Number of entries that match the filters; null if not counted. */
  readonly total: number | null;
  /** Same order as the plan's nodes. */
  readonly nodes: readonly NodeData[];
  /** Whether links were read, none of them to an entry that another one leads to, and no long list. */
  readonly isTree: boolean;
}

export interface NodeData {
  /** By id; an id without one is not visible. */
  readonly entries: ReadonlyMap<number, EntryText>;
  /** Place in the node's own sort by id, equal for ties; null without a sort. */
  readonly places: ReadonlyMap<number, number> | null;
  /** For each edge: the targets of each id, in stored order. */
  readonly targets: readonly ReadonlyMap<number, TargetList>[];
}

/**
 * The scalar part as the text of a JSON object. Where the shape nests, the whole entry as it is shown, or the members that are
 * not fetched by batches (`memberTexts`), with a character for each byte.
 */
export type EntryText = string | readonly string[];

/** Ids and, where types are mixed, the index of each one's node among the edge's targets. */
export interface TargetList {
  readonly ids: number[];
  readonly kinds: number[];
}

interface GrowingNode extends NodeData {
  readonly entries: Map<number, EntryText>;
  readonly places: Map<number, number> | null;
  readonly targets: Map<number, TargetList>[];
  /** Ids already requested. */
  readonly seen: Set<number>;
  /** Ids found in the last round, to be fetched in the next. */
  fresh: number[];
}

/** A statement of a round. */
type Work = { readonly node: number; readonly ids: readonly number[] } & (
  | { readonly kind: 'entries' }
  | { readonly kind: 'links'; readonly links: number }
);

/**
 * Null if the shape nests and has met a list that only batches render (`inline.ts`): to be read with a plan that does not nest.
 * @param values those of the plan.
 * @param ids the entries to read where the shape has no slice; ignored elsewhere.
 */
export function* runRead(
  compiled: CompiledRead,
  values: readonly DbValue[],
  ids: readonly number[],
  binding: Binding,
): ReadProgram<ReadData | null> {
  const { shape } = compiled;
  const bound = bindRead(compiled, values, binding);
  if (bound.whole) return yield* runWhole(bound, bound.whole, values, ids, binding);
  const root = shape.nodes.length - 1;
  const nodes = shape.nodes.map(
    (node): GrowingNode => ({
      entries: new Map(),
      places: node.sort.length > 0 ? new Map() : null,
      targets: node.edges.map(() => new Map()),
      seen: new Set(),
      fresh: [],
    }),
  );
  let rowsLeft: number = limits.rowsMax;
  const spend = (rows: number): void => {
    rowsLeft -= rows;
    if (rowsLeft < 0)
      throw new Refusal(issue('read.too-expensive', ['populate'], { what: 'rows', max: limits.rowsMax }));
  };

  // texts of bytes have a character for each: up to three where they had one, of half the size
  let charactersLeft: number = shape.nests ? 2 * limits.readCharactersMax : limits.readCharactersMax;
  let isRendered = true;
  let isTree: boolean | null = null;
  /** Returns the rows. @param returned what the statement has returned. @param joined how it joins them, if it does. */
  const place = (index: number, returned: Rows, joined: JoinedEntries | null): Rows => {
    const node = shape.nodes[index]!;
    const data = nodes[index]!;
    const rows = joined ? rowsIn(returned, joined) : shape.nests ? byteRows(node, returned) : returned;
    if (!rows) {
      isRendered = false;
      return [];
    }
    charactersLeft -= shape.nests ? placeTexts(node, data, rows) : placeEntries(node, data, rows);
    if (charactersLeft < 0) throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
    return rows;
  };
  const joinedOf = (index: number, given: readonly number[]): JoinedEntries | null =>
    given.length > limits.shortRowsMax ? null : (bound.joined?.nodes[index] ?? null);

  if (bound.united) {
    const statement = withIds(bound.united.statement, ids, binding);
    const only = shape.nodes.length === 1 && shape.action === 'findOne' ? { onlyTexts: unitedTexts } : {};
    const [rows = []] = yield [{ ...statement, isWhole: true, ...only }];
    const placed = placeUnited(shape, bound.united.kinds, nodes, rows);
    spend(rows.length - placed.page.length);
    return placed;
  }

  const joinedPage = bound.page ? (bound.joined?.page ?? null) : joinedOf(root, ids);
  const { statement } = joinedPage ?? { statement: bound.page ?? fetchedNode(bound, root).entries };
  const [returned = []] = yield [bound.page ? statement : withIds(statement, ids, binding)];
  const version = shape.withVersion ? ((returned[0]?.at(-1) as string | null | undefined) ?? null) : null;
  place(root, shape.withVersion ? returned.map((row) => row.slice(0, -1)) : returned, joinedPage);
  const page = [...nodes[root]!.entries.keys()];
  const total = yield* totalOf(bound, values, page.length);
  // the root's entries are already here; fetch only its links
  let work: Work[] = page.length === 0 ? [] : linksOf(shape.nodes[root]!, root, page);

  while (work.length > 0 && isRendered) {
    const statements = work.map((it): Statement => {
      const { entries, links } = fetchedNode(bound, it.node);
      if (it.kind === 'links') return withIds(links[it.links]!, it.ids, binding);
      return withIds(joinedOf(it.node, it.ids)?.statement ?? entries, it.ids, binding);
    });
    const results = yield statements;
    const next: Work[] = [];
    work.forEach((it, i) => {
      const result = results[i] ?? [];
      const node = shape.nodes[it.node]!;
      if (it.kind === 'links') {
        spend(result.length);
        const areApart = placeLinks(node, nodes, it, result);
        isTree = areApart && isTree !== false;
      } else {
        const rows = place(it.node, result, joinedOf(it.node, it.ids));
        spend(rows.length);
        // follow only entries that passed the filter
        if (node.filter && rows.length > 0)
          next.push(
            ...linksOf(
              node,
              it.node,
              rows.map((row) => row[0] as number),
            ),
          );
      }
    });
    nodes.forEach((node, index) => {
      if (node.fresh.length === 0) return;
      const planned = shape.nodes[index]!;
      next.push({ node: index, kind: 'entries', ids: node.fresh });
      if (!planned.filter) next.push(...linksOf(planned, index, node.fresh));
      node.fresh = [];
    });
    work = next;
  }
  return isRendered ? { page, whole: null, version, total, nodes, isTree: isTree === true } : null;
}

function* runWhole(
  bound: CompiledRead,
  statement: Statement,
  values: readonly DbValue[],
  given: readonly number[],
  binding: Binding,
): ReadProgram<ReadData | null> {
  const { shape, count, wholeCounts } = bound;
  const first = shape.slice ? statement : withIds(statement, given, binding);
  const isWhole = wholeCounts || !count || !shape.slice || values[shape.slice.total] !== null;
  const [[row] = []] = yield [{ ...first, isWhole }];
  const [texts = null, ids = null, version = null, sizes = null, counted] = (row ?? []) as readonly [
    (Uint8Array | null)?,
    Joined?,
    (string | null)?,
    Joined?,
    number?,
  ];
  if (texts?.includes(UNRENDERED)) return null;
  const page = numbersIn(ids);
  const total = wholeCounts ? counted! : yield* totalOf(bound, values, page.length);
  const whole = row ? { texts: texts ?? new Uint8Array(), sizes: numbersIn(sizes) } : null;
  return { page, whole, version, total, nodes: [], isTree: false };
}

/** The ids of a page, and the number of entries on all pages. */
export interface PageIds {
  readonly ids: readonly number[];
  readonly total: number | null;
}

export function* runIds(
  { statement }: CompiledIds,
  values: readonly DbValue[],
  binding: Binding,
): ReadProgram<PageIds> {
  const [[row] = []] = yield [withValues(statement, values, binding)];
  const [ids, total] = row as readonly [Joined, number | null];
  return { ids: numbersIn(ids), total };
}

/**
 * The number of entries on all pages, if the response says it. A page that is not full tells it: counting would look for the
 * same entries again.
 * @param rows of the page.
 */
function* totalOf(
  { shape: { slice }, count }: CompiledRead,
  values: readonly DbValue[],
  rows: number,
): ReadProgram<number | null> {
  if (!count || !slice) return null;
  const known = values[slice.total] as number | null;
  if (known !== null) return known;
  const offset = Number(values[slice.offset]);
  const isLast = rows < Number(values[slice.limit]) && (rows > 0 || offset === 0);
  // an anchored one counts its offset from another place
  if (isLast && !slice.isAnchored && values[slice.after] === limits.integerMin) return offset + rows;
  const [countRows = []] = yield [count];
  return Number(countRows[0]?.[0] ?? 0);
}

/** The statements of a read with the values of its plan; ids are bound when they are known. */
export const bindRead = (compiled: CompiledRead, values: readonly DbValue[], binding: Binding): CompiledRead => {
  const bind = (statement: Statement): Statement => withValues(statement, values, binding);
  const bindJoined = (it: JoinedEntries): JoinedEntries =>
    it.statement.slots ? { ...it, statement: bind(it.statement) } : it;
  return {
    ...compiled,
    whole: compiled.whole && bind(compiled.whole),
    page: compiled.page && bind(compiled.page),
    count: compiled.count && bind(compiled.count),
    united: compiled.united && { ...compiled.united, statement: bind(compiled.united.statement) },
    joined: compiled.joined && {
      page: compiled.joined.page && bindJoined(compiled.joined.page),
      nodes: compiled.joined.nodes.map((it) => it && bindJoined(it)),
    },
    nodes: compiled.nodes.map((it) => (it?.entries.slots ? { ...it, entries: bind(it.entries) } : it)),
  };
};

const fetchedNode = ({ nodes }: CompiledRead, index: number): CompiledNode => {
  const node = nodes[index];
  if (!node) throw bug('run.inline-node', { index });
  return node;
};

const linksOf = (node: PlanNode, index: number, ids: readonly number[]): Work[] =>
  node.links.map((_links, links) => ({ node: index, kind: 'links', links, ids }));

/** Returns the number of characters placed. */
const placeEntries = (node: PlanNode, data: GrowingNode, rows: Rows): number => {
  const width = rows[0]?.length ?? 0;
  const texts = width - 1 - (data.places ? 1 : 0);
  let characters = 0;
  for (const row of rows) {
    const id = row[0] as number;
    if (data.places) data.places.set(id, Number(row[width - 1]));
    const text =
      texts === 1
        ? (row[1] as string)
        : node.fields.length === 0
          ? '{}'
          : `{${row
              .slice(1, 1 + texts)
              .map((chunk) => (chunk as string).slice(1, -1))
              .join(',')}}`;
    characters += text.length;
    data.entries.set(id, text);
  }
  return characters;
};

/** The same of the texts of shapes that nest. */
const placeTexts = ({ edges }: PlanNode, data: GrowingNode, rows: Rows): number => {
  const width = rows[0]?.length ?? 0;
  const end = width - (data.places ? 1 : 0);
  const isWhole = edges.every((it) => it.inline !== null);
  let characters = 0;
  for (const row of rows) {
    const id = row[0] as number;
    if (data.places) data.places.set(id, Number(row[width - 1]));
    const texts = row.slice(1, end) as string[];
    for (const text of texts) characters += text.length;
    data.entries.set(id, isWhole ? texts[0]! : texts);
  }
  return characters;
};

/** Rows whose texts have a character for each byte; null if a list in them is not rendered. */
const byteRows = ({ edges }: PlanNode, rows: Rows): Rows | null => {
  const mayBeUnrendered = edges.some((it) => it.inline !== null);
  const nul = String.fromCharCode(UNRENDERED);
  const isUnrendered = (cell: unknown): boolean => typeof cell === 'string' && cell.includes(nul);
  if (mayBeUnrendered && rows.some((row) => row.some(isUnrendered))) return null;
  return rows.map((row) => row.map((cell) => (typeof cell === 'string' ? byteText(cell) : cell)));
};

/** Where the rows of `UnitedRead` have their texts. */
const unitedTexts = { column: 4, columns: 4 };

const placeUnited = (
  shape: ReadShape,
  kinds: readonly UnitedKind[],
  nodes: readonly GrowingNode[],
  rows: Rows,
): ReadData => {
  let total = 0;
  let version: string | null = null;
  let characters = 0;
  const lists = kinds.map((it) => {
    if (it.kind !== 'link') return null;
    const { edge, target } = shape.nodes[it.node]!.links[it.links]!.targets[it.target]!;
    return { lists: nodes[it.node]!.targets[edge]!, kind: target };
  });
  for (const row of rows) {
    const kind = kinds[row[0] as number]!;
    switch (kind.kind) {
      case 'entry': {
        const node = nodes[kind.node]!;
        const text = (row[3] as string | null) ?? '{}';
        node.entries.set(row[1] as number, text);
        node.places?.set(row[1] as number, row[2] as number);
        characters += text.length;
        break;
      }
      case 'link': {
        const place = lists[row[0] as number]!;
        addTarget(place.lists, row[1] as number, row[2] as number, place.kind);
        break;
      }
      case 'count':
        total = row[1] as number;
        break;
      case 'version':
        version = row[3] as string | null;
        break;
      default:
        never(kind);
    }
  }
  if (characters > limits.readCharactersMax)
    throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
  const page = [...nodes.at(-1)!.entries.keys()];
  return { page, whole: null, version, total: shape.withCount ? total : null, nodes, isTree: false };
};

/** Returns the list of `from`. */
const addTarget = (lists: Map<number, TargetList>, from: number, to: number, kind: number): TargetList => {
  const list = lists.get(from);
  if (!list) {
    const made = { ids: [to], kinds: [kind] };
    lists.set(from, made);
    return made;
  }
  list.ids.push(to);
  list.kinds.push(kind);
  return list;
};

/** Returns whether none of them leads where another one does, and no list is long. */
const placeLinks = (
  node: PlanNode,
  nodes: readonly GrowingNode[],
  work: Extract<Work, { kind: 'links' }>,
  rows: Rows,
): boolean => {
  let areApart = true;
  const owner = nodes[work.node]!;
  const places = node.links[work.links]!.targets.map(({ edge, target }) => ({
    lists: owner.targets[edge]!,
    kind: target,
    node: nodes[node.edges[edge]!.targets[target]!.node]!,
  }));
  for (const row of rows) {
    // null: a type that was not requested, that the caller may not see, or that no longer exists (ST4)
    const place = row[2] === null ? undefined : places[row[2] as number];
    if (!place) continue;
    const to = row[1] as number;
    const { ids } = addTarget(place.lists, row[0] as number, to, place.kind);
    if (ids.length > limits.inlineRowsMax) areApart = false;
    if (place.node.seen.has(to)) {
      areApart = false;
      continue;
    }
    place.node.seen.add(to);
    place.node.fresh.push(to);
  }
  return areApart;
};
