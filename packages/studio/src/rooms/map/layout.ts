/** Where the cards stand: ELK's layered layout, in a worker, and the cards that somebody has moved. */
import ELK from 'elkjs/lib/elk-api.js';
import ElkWorker from 'elkjs/lib/elk-worker.min.js?worker';
import type { Card, Point } from './geometry.js';
import type { Graph } from './graph.js';

export type Positions = ReadonlyMap<string, Point>;

let elk: InstanceType<typeof ELK> | null = null;

export const layOut = async ({ edges }: Graph, cards: ReadonlyMap<string, Card>): Promise<Positions> => {
  elk ??= new ELK({ workerFactory: () => new ElkWorker() });
  const { children = [] } = await elk.layout({
    id: 'map',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': 'RIGHT',
      'elk.spacing.nodeNode': '40',
      'elk.layered.spacing.nodeNodeBetweenLayers': '180',
      'elk.spacing.componentComponent': '64',
      'elk.aspectRatio': '1.6',
    },
    children: [...cards].map(([id, { width, height }]) => ({ id, width, height })),
    edges: edges.map(({ id, from, to }) => ({ id, sources: [from.uid], targets: [to.uid] })),
  });
  return new Map(children.map(({ id, x = 0, y = 0 }) => [id, { x: Math.round(x), y: Math.round(y) }]));
};

const KEY = 'dovetail.map';

/** The cards that were moved in this browser. */
export const movedCards = (): Positions => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (kept === null || typeof kept !== 'object') return new Map();
    return new Map(Object.entries(kept).filter((it): it is [string, Point] => isPoint(it[1])));
  } catch {
    return new Map();
  }
};

const isPoint = (value: unknown): value is Point => {
  const { x, y } = (value ?? {}) as Partial<Point>;
  return Number.isFinite(x) && Number.isFinite(y);
};

export const keepMoved = (moved: Positions): void => {
  try {
    if (moved.size === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(moved)));
  } catch {
    // without storage the cards stay where they are until a reload
  }
};
