/** What the lines of the drawing and their ends mean. */
import { words } from '../../words/index.js';
import { markAt } from './geometry.js';
import type { Count, Edge } from './graph.js';
import classes from './map.module.css';

const texts = words.map.legend;

const WIDTH = 36;
const MIDDLE = 7;

export const Legend = ({ edges }: { readonly edges: readonly Edge[] }) => {
  const kinds = (['component', 'zone'] as const).filter((kind) => edges.some((it) => it.kind === kind));
  return edges.length === 0 ? null : (
    <ul aria-label={texts.label} className={classes['legend']}>
      {(['one', 'many'] as const).map((count) => (
        <li key={count}>
          <Sample count={count} kind="relation" />
          {texts[count]}
        </li>
      ))}
      {kinds.map((kind) => (
        <li key={kind}>
          <Sample count={null} kind={kind} />
          {texts[kind]}
        </li>
      ))}
    </ul>
  );
};

const Sample = ({ count, kind }: { readonly count: Count | null; readonly kind: Edge['kind'] }) => (
  <svg width={WIDTH} height={2 * MIDDLE} aria-hidden="true">
    <path d={`M 0 ${MIDDLE} h ${WIDTH}`} className={classes['edge']} data-kind={kind} />
    {count && <path d={markAt({ x: WIDTH, y: MIDDLE }, -1, count)} className={classes['edge']} />}
    {count && <path d={`M ${WIDTH - 0.5} 0 v ${2 * MIDDLE}`} className={classes['side']} />}
  </svg>
);
