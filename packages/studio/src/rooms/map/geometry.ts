/** Where things are drawn, in pixels of the map at its natural size. */
import { ownAttributes, type Type } from '../../model/model.js';
import type { Count, Edge, End, Graph } from './graph.js';

export interface Point {
  readonly x: number;
  readonly y: number;
}
interface Size {
  readonly width: number;
  readonly height: number;
}
export type Rect = Point & Size;

// ---- cards

const CARD_WIDTH = 232;
export const HEAD_HEIGHT = 48;
export const ROW_HEIGHT = 20;
const PADDING = 8;
/** Of a card that is not shown whole; further attributes are counted in a last row. */
const ROWS_MAX = 14;

/** What a card shows of its type. */
export interface Card extends Size {
  readonly type: Type;
  readonly rows: Type['attributes'];
  /** Attributes without a row. */
  readonly more: number;
  readonly isWhole: boolean;
}

/** Every card, large enough for the edges that meet it. @param whole uids of types that are shown with all attributes. */
export const cardsOf = ({ types, edges }: Graph, whole: ReadonlySet<string>): ReadonlyMap<string, Card> =>
  new Map(
    types.map((type): [string, Card] => {
      const isWhole = whole.has(type.uid);
      const { rows, more } = rowsOf(type, isWhole);
      const lines = rows.length + (more > 0 || hasMore(type) ? 1 : 0);
      const lanes = edges
        .flatMap(({ from, to }) => [from, to])
        .filter((it) => it.uid === type.uid && isOutside(it, rows));
      const extra = Math.max(0, lanes.length - HEAD_LANES.length - lines) * LANE_HEIGHT;
      const height = HEAD_HEIGHT + lines * ROW_HEIGHT + PADDING + extra;
      return [type.uid, { type, rows, more, isWhole, width: CARD_WIDTH, height }];
    }),
  );

/** Links keep their rows: edges begin there. */
const rowsOf = (type: Type, isWhole: boolean): Pick<Card, 'rows' | 'more'> => {
  const own = ownAttributes(type);
  if (isWhole || own.length <= ROWS_MAX) return { rows: own, more: 0 };
  const kept = new Set([...own.filter((it) => it.kind !== 'scalar'), ...own].slice(0, ROWS_MAX - 1));
  return { rows: own.filter((it) => kept.has(it)), more: own.length - kept.size };
};

/** Whether the card has a last row that shows or hides attributes. */
export const hasMore = (type: Type): boolean => ownAttributes(type).length > ROWS_MAX;

// ---- where edges meet cards

const isOutside = ({ attribute }: End, rows: Card['rows']): boolean => !rows.some((it) => it.name === attribute);

/** Of ends without a row: in the head, then between the rows, then below them. */
const HEAD_LANES: readonly number[] = [12, 24, 36];
const LANE_HEIGHT = 12;
const laneOffset = (lane: number, lines: number): number => {
  const inHead = HEAD_LANES[lane];
  if (inHead !== undefined) return inHead;
  const between = lane - HEAD_LANES.length + 1;
  if (between <= lines) return HEAD_HEIGHT + between * ROW_HEIGHT;
  return HEAD_HEIGHT + lines * ROW_HEIGHT + (between - lines) * LANE_HEIGHT;
};

export interface DrawnEdge {
  readonly edge: Edge;
  /** Of an SVG path. */
  readonly path: string;
  /** The marks at both ends, as SVG paths: a bar for one, a crow's foot for many. */
  readonly marks: readonly [string, string];
}

/**
 * Every edge between cards that have a place. An end stands at the row of its attribute; ends without one have places of their
 * own, in the order in which their other ends are from top to bottom.
 */
export const drawEdges = (
  { edges }: Graph,
  cards: ReadonlyMap<string, Card>,
  rects: ReadonlyMap<string, Rect>,
): readonly DrawnEdge[] => {
  const placed = edges.filter(({ from, to }) => rects.has(from.uid) && rects.has(to.uid));
  const lanes = lanesOf(placed, cards, rects);
  const meetingOf = (end: End): Meeting | null => {
    const [card, rect] = [cards.get(end.uid), rects.get(end.uid)];
    if (!card || !rect) return null;
    const lane = lanes.get(end);
    const row = card.rows.findIndex((it) => it.name === end.attribute);
    const offset = lane === undefined ? HEAD_HEIGHT + (row + 0.5) * ROW_HEIGHT : laneOffset(lane, linesOf(card));
    return { rect, offset, count: end.count };
  };
  return placed.flatMap((edge) => {
    const [from, to] = [meetingOf(edge.from), meetingOf(edge.to)];
    return from && to ? [{ edge, ...drawEdge(from, to) }] : [];
  });
};

const linesOf = ({ type, rows }: Card): number => rows.length + (hasMore(type) ? 1 : 0);

const lanesOf = (
  edges: readonly Edge[],
  cards: ReadonlyMap<string, Card>,
  rects: ReadonlyMap<string, Rect>,
): ReadonlyMap<End, number> => {
  const heightOf = ({ uid }: End): number => {
    const rect = rects.get(uid);
    return rect ? rect.y + rect.height / 2 : 0;
  };
  const ends = edges
    .flatMap(({ from, to }) => [
      { end: from, other: to },
      { end: to, other: from },
    ])
    .filter(({ end }) => isOutside(end, cards.get(end.uid)?.rows ?? []))
    .sort((a, b) => heightOf(a.other) - heightOf(b.other));
  const used = new Map<string, number>();
  return new Map(
    ends.map(({ end }) => {
      const lane = used.get(end.uid) ?? 0;
      used.set(end.uid, lane + 1);
      return [end, lane];
    }),
  );
};

/** A card, how far below its top an edge meets it, and how many entries that end stands for. */
interface Meeting {
  readonly rect: Rect;
  readonly offset: number;
  readonly count: Count;
}

/** Straight beside a card, where the marks are. */
const STUB = 14;

/** A curve between two cards, from side to side. */
export const drawEdge = (from: Meeting, to: Meeting): Omit<DrawnEdge, 'edge'> => {
  const [a, b] = [from.rect, to.rect];
  const isLoop = a.x === b.x && a.y === b.y;
  const leavesRight = isLoop || b.x + b.width / 2 >= a.x + a.width / 2;
  // one above the other: both ends leave on the same side
  const overlap = a.x < b.x + b.width + 40 && b.x < a.x + a.width + 40;
  const endsRight = overlap ? leavesRight : !leavesRight;
  const [start, end] = [sidePoint(from, leavesRight), sidePoint(to, endsRight)];
  const [out, back] = [outward(leavesRight), outward(endsRight)];
  const bend = overlap ? 40 + Math.abs(end.y - start.y) / 8 : Math.max(40, Math.abs(end.x - start.x) / 2);
  const path = [
    `M ${start.x} ${start.y} h ${out * STUB}`,
    `C ${start.x + out * (STUB + bend)} ${start.y}, ${end.x + back * (STUB + bend)} ${end.y}, ${end.x + back * STUB} ${end.y}`,
    `L ${end.x} ${end.y}`,
  ].join(' ');
  return { path, marks: [markAt(start, out, from.count), markAt(end, back, to.count)] };
};

const sidePoint = ({ rect: { x, y, width }, offset }: Meeting, right: boolean): Point => ({
  x: right ? x + width : x,
  y: y + offset,
});

const outward = (right: boolean): 1 | -1 => (right ? 1 : -1);

/** @param out 1 where the edge leaves to the right. */
export const markAt = ({ x, y }: Point, out: 1 | -1, count: Count): string =>
  count === 'one' ? `M ${x + out * 7} ${y - 4} v 8` : `M ${x} ${y - 4} L ${x + out * 10} ${y} L ${x} ${y + 4}`;

/** The smallest rectangle around others, with room for edges that leave to a side. */
export const around = (rects: readonly Rect[], margin = 80): Rect => {
  if (rects.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  const left = Math.min(...rects.map((it) => it.x)) - margin;
  const top = Math.min(...rects.map((it) => it.y)) - margin;
  const right = Math.max(...rects.map((it) => it.x + it.width)) + margin;
  const bottom = Math.max(...rects.map((it) => it.y + it.height)) + margin;
  return { x: left, y: top, width: right - left, height: bottom - top };
};
