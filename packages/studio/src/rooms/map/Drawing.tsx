/** The map as a drawing: cards that can be moved, and the edges between them. */
import '@xyflow/react/dist/style.css';
import { UnstyledButton, useComputedColorScheme } from '@mantine/core';
import {
  Background,
  Controls,
  type EdgeProps,
  type Edge as FlowEdge,
  type Node as FlowNode,
  Handle,
  type NodeChange,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from '@xyflow/react';
import { createContext, memo, useContext, useEffect, useMemo, useRef } from 'react';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { useCount } from './counts.js';
import { type Card, type DrawnEdge, hasMore, type Point, type Rect } from './geometry.js';
import type { Graph } from './graph.js';
import classes from './map.module.css';
import { kindOf, sayEdge } from './wording.js';

const texts = words.map;

interface Look {
  readonly model: Model;
  readonly cards: ReadonlyMap<string, Card>;
  readonly selected: string | null;
  /** Null: all. */
  readonly found: ReadonlySet<string> | null;
  /** Shows all attributes of a type, or fewer. */
  readonly onToggle: (uid: string) => void;
}
const LookContext = createContext<Look | null>(null);
const useLook = (): Look => {
  const look = useContext(LookContext);
  if (!look) throw new Error('cards and edges are drawn inside of a Drawing');
  return look;
};

type CardNode = FlowNode<{ readonly type: Type }, 'card'>;
type LineEdge = FlowEdge<{ readonly drawn: DrawnEdge }, 'line'>;

const TypeCard = memo(({ data: { type } }: NodeProps<CardNode>) => {
  const { model, cards, selected, found, onToggle } = useLook();
  const count = useCount(type);
  const { rows, more, isWhole } = cards.get(type.uid) ?? { rows: [], more: 0, isWhole: false };
  const facts = [texts.kinds[type.kind], ...(count === undefined ? [] : [texts.entries(count)])];
  return (
    <div
      className={classes['card']}
      data-component={type.kind === 'component' || undefined}
      data-selected={selected === type.uid || undefined}
      data-dim={(found && !found.has(type.uid)) || undefined}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} className={classes['handle'] ?? ''} />
      <div className={classes['head']}>
        <div className={classes['name']}>{type.displayName}</div>
        <div>{facts.join(' · ')}</div>
      </div>
      {rows.map((attribute) => (
        <div
          key={attribute.name}
          className={classes['row']}
          data-locked={attribute.lockedBy !== null || undefined}
          title={`${attribute.name}: ${kindOf(model, attribute)}`}
        >
          <span>{attribute.name}</span>
          <span>{kindOf(model, attribute)}</span>
        </div>
      ))}
      {hasMore(type) && (
        <UnstyledButton
          className={`nodrag nopan ${classes['more']}`}
          aria-label={isWhole ? texts.hideRows(type.displayName) : texts.showRows(type.displayName, more)}
          aria-expanded={isWhole}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(type.uid);
          }}
          onKeyDown={(event) => event.stopPropagation()}
        >
          {isWhole ? texts.fewerRows : texts.moreRows(more)}
        </UnstyledButton>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} className={classes['handle'] ?? ''} />
    </div>
  );
});

const Line = memo(({ data }: EdgeProps<LineEdge>) => {
  const { model, selected, found } = useLook();
  if (!data) return null;
  const { edge, path, marks } = data.drawn;
  const isStrong = selected !== null && (edge.from.uid === selected || edge.to.uid === selected);
  const isDim = found && !found.has(edge.from.uid) && !found.has(edge.to.uid);
  return (
    <g className={classes['line']} data-strong={isStrong || undefined} data-dim={isDim || undefined}>
      <title>{sayEdge(model, edge)}</title>
      <path d={path} className={classes['reach']} />
      <path d={path} className={classes['edge']} data-kind={edge.kind} />
      {marks.map((mark) => (
        <path key={mark} d={mark} className={classes['edge']} />
      ))}
    </g>
  );
});

const nodeTypes = { card: TypeCard };
const edgeTypes = { line: Line };

const ariaLabels = {
  'node.a11yDescription.default': texts.flow.card,
  'node.a11yDescription.keyboardDisabled': texts.flow.card,
  'node.a11yDescription.ariaLiveMessage': ({ direction }: { readonly direction: string }) =>
    texts.flow.moved(direction),
  'controls.ariaLabel': texts.flow.controls,
  'controls.zoomIn.ariaLabel': texts.flow.zoomIn,
  'controls.zoomOut.ariaLabel': texts.flow.zoomOut,
  'controls.fitView.ariaLabel': texts.flow.fit,
};

interface DrawingProps extends Look {
  readonly graph: Graph;
  readonly rects: ReadonlyMap<string, Rect>;
  readonly edges: readonly DrawnEdge[];
  readonly onMove: (uid: string, to: Point) => void;
  readonly onSelect: (uid: string | null) => void;
}

export const Drawing = ({ graph, rects, edges: drawn, onMove, onSelect, ...look }: DrawingProps) => {
  const scheme = useComputedColorScheme('light');
  const { model, selected, found } = look;
  const flow = useRef<ReactFlowInstance<CardNode, LineEdge> | null>(null);
  const nodes = useMemo(
    () =>
      graph.types.flatMap((type): CardNode[] => {
        const rect = rects.get(type.uid);
        if (!rect) return [];
        const { x, y, width, height } = rect;
        return [
          {
            id: type.uid,
            type: 'card',
            data: { type },
            position: { x, y },
            width,
            height,
            selected: selected === type.uid,
            ariaLabel: `${type.displayName}, ${texts.kinds[type.kind]}`,
          },
        ];
      }),
    [graph, rects, selected],
  );
  const edges = useMemo(
    () =>
      drawn.map(
        (it): LineEdge => ({
          id: it.edge.id,
          type: 'line',
          source: it.edge.from.uid,
          target: it.edge.to.uid,
          data: { drawn: it },
          focusable: false,
          ariaLabel: sayEdge(model, it.edge),
        }),
      ),
    [drawn, model],
  );
  const change = (changes: readonly NodeChange<CardNode>[]): void => {
    for (const it of changes) {
      if (it.type === 'position' && it.position) onMove(it.id, it.position);
      if (it.type === 'select' && it.selected) onSelect(it.id);
    }
  };
  // other types are another drawing
  const shown = useRef(graph.types);
  useEffect(() => {
    if (shown.current === graph.types) return;
    shown.current = graph.types;
    void flow.current?.fitView({ maxZoom: 1, padding: 0.1 });
  }, [graph]);
  // what was found comes into view
  useEffect(() => {
    if (found && found.size > 0 && found.size < rects.size)
      void flow.current?.fitView({ nodes: [...found].map((id) => ({ id })), maxZoom: 1, padding: 0.3 });
  }, [found, rects.size]);
  return (
    <LookContext value={look}>
      <ReactFlow<CardNode, LineEdge>
        aria-label={texts.drawing}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={change}
        onNodeClick={(_event, { id }) => onSelect(id)}
        onPaneClick={() => onSelect(null)}
        onInit={(it) => {
          flow.current = it;
        }}
        colorMode={scheme}
        ariaLabelConfig={ariaLabels}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        minZoom={0.1}
        nodesConnectable={false}
        deleteKeyCode={null}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </LookContext>
  );
};
