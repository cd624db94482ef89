/** The whole map as one SVG in plain colours, without any style sheet: what is printed and exported. */
import type { Model } from '../../model/model.js';
import { words } from '../../words/index.js';
import { around, type Card, type DrawnEdge, HEAD_HEIGHT, markAt, type Rect, ROW_HEIGHT } from './geometry.js';
import { kindOf } from './wording.js';

const INK = '#1a1d20';
const PALE = '#5c636a';
const font = 'system-ui, sans-serif';
/** About what fits into a card of 232 px at 12 px. */
const CHARACTERS_MAX = 34;
const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 1))}…`;

interface SheetProps {
  readonly model: Model;
  readonly cards: ReadonlyMap<string, Card>;
  readonly rects: ReadonlyMap<string, Rect>;
  readonly edges: readonly DrawnEdge[];
}

export const Sheet = ({ model, cards, rects, edges }: SheetProps) => {
  const { x, y, width, height: drawn } = around([...rects.values()]);
  const height = drawn + LEGEND_HEIGHT;
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      viewBox={`${x} ${y} ${width} ${height}`}
      width={width}
      height={height}
      fontFamily={font}
      fontSize={12}
    >
      <title>{words.map.title}</title>
      <rect x={x} y={y} width={width} height={height} fill="#ffffff" />
      {edges.map(({ edge, path, marks }) => (
        <g key={edge.id} fill="none" stroke={PALE} strokeWidth={1.25}>
          <path d={path} strokeDasharray={dashes[edge.kind] ?? undefined} />
          {marks.map((mark) => (
            <path key={mark} d={mark} />
          ))}
        </g>
      ))}
      {[...cards.values()].map(({ type, rows, more }) => {
        const rect = rects.get(type.uid);
        if (!rect) return null;
        const left = rect.x + 8;
        const right = rect.x + rect.width - 8;
        return (
          <g key={type.uid}>
            <rect
              {...rect}
              rx={4}
              fill="#ffffff"
              stroke={PALE}
              strokeDasharray={type.kind === 'component' ? '4 3' : undefined}
            />
            <text x={left} y={rect.y + 20} fontSize={14} fontWeight={600} fill={INK}>
              {cut(type.displayName, 26)}
            </text>
            <text x={left} y={rect.y + 38} fill={PALE}>
              {cut(`${words.map.kinds[type.kind]} · ${type.uid}`, CHARACTERS_MAX)}
            </text>
            {rows.map((attribute, row) => {
              const line = rect.y + HEAD_HEIGHT + row * ROW_HEIGHT + 14;
              return (
                <g key={attribute.name}>
                  <text x={left} y={line} fill={INK}>
                    {cut(attribute.name, 22)}
                  </text>
                  <text x={right} y={line} textAnchor="end" fill={PALE}>
                    {cut(kindOf(model, attribute), CHARACTERS_MAX - Math.min(attribute.name.length, 22) - 2)}
                  </text>
                </g>
              );
            })}
            {more > 0 && (
              <text x={left} y={rect.y + HEAD_HEIGHT + rows.length * ROW_HEIGHT + 14} fill={PALE}>
                {words.map.moreRows(more)}
              </text>
            )}
          </g>
        );
      })}
      <SheetLegend x={x + 80} y={y + drawn - 40} />
    </svg>
  );
};

const LEGEND_HEIGHT = 24;

const SheetLegend = ({ x, y }: { readonly x: number; readonly y: number }) => (
  <>
    {(['one', 'many'] as const).map((count, i) => {
      const end = { x: x + 36, y: y + i * 20 };
      return (
        <g key={count}>
          <path
            d={`M ${x} ${end.y} h 36 ${markAt(end, -1, count)} M ${end.x} ${end.y - 7} v 14`}
            fill="none"
            stroke={PALE}
            strokeWidth={1.25}
          />
          <text x={end.x + 8} y={end.y + 4} fill={INK}>
            {words.map.legend[count]}
          </text>
        </g>
      );
    })}
  </>
);

const dashes = { relation: null, component: '6 4', zone: '2 3' } as const;
