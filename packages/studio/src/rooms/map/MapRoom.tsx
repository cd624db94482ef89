/** The room Map: the model as a drawing or as a list, and one type of it in full. */
import { ActionIcon, Group, Menu, SegmentedControl, Switch, TextInput, Title, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDotsVertical, IconSearch } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { typeOf } from '../../model/model.js';
import { download } from '../../parts/download.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { Waiting } from '../../parts/Waiting.js';
import { useModelAs } from '../../server/queries.js';
import { words } from '../../words/index.js';
import { Drawing } from './Drawing.js';
import { type Card, cardsOf, drawEdges, type Point, type Rect } from './geometry.js';
import { graphOf, matching } from './graph.js';
import { Legend } from './Legend.js';
import { keepMoved, layOut, movedCards, type Positions } from './layout.js';
import classes from './map.module.css';
import { type MapSearch, mapRoute } from './route.js';
import { Sheet } from './Sheet.js';
import { TypeList } from './TypeList.js';
import { TypePanel } from './TypePanel.js';

const texts = words.map;

export const MapRoom = () => {
  const model = useModelAs();
  const search = mapRoute.useSearch();
  const navigate = mapRoute.useNavigate();
  const go = (change: { readonly [K in keyof MapSearch]: MapSearch[K] | undefined }): void =>
    void navigate({
      search: (before) =>
        Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, it]) => it)) as MapSearch,
      replace: true,
    });
  const components = search.components ?? false;
  const plugins = search.plugins ?? false;
  const graph = useMemo(() => graphOf(model, { components, plugins }), [model, components, plugins]);
  const [whole, setWhole] = useState<ReadonlySet<string>>(() => new Set());
  const cards = useMemo(() => cardsOf(graph, whole), [graph, whole]);
  const layout = useQuery({
    queryKey: ['map layout', [...cards].map(([uid, it]) => [uid, it.height]), graph.edges.map((it) => it.id)],
    queryFn: () => layOut(graph, cards),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [moved, setMoved] = useState<Positions>(movedCards);
  const rects = useMemo(() => rectsOf(cards, layout.data ?? null, moved), [cards, layout.data, moved]);
  const edges = useMemo(() => drawEdges(graph, cards, rects), [graph, cards, rects]);
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text, 150);
  const found = useMemo(() => (wanted.trim() === '' ? null : matching(graph.types, wanted)), [graph, wanted]);
  const selected = typeOf(model, search.type ?? null);
  const [isPrinting, setPrinting] = useState(false);
  const sheet = useRef<HTMLDivElement>(null);
  const isList = search.view === 'list';
  // the browser's own command prints the whole map too
  useEffect(() => {
    const draw = (): void => flushSync(() => setPrinting(!isList));
    const stop = (): void => setPrinting(false);
    window.addEventListener('beforeprint', draw);
    window.addEventListener('afterprint', stop);
    return () => {
      window.removeEventListener('beforeprint', draw);
      window.removeEventListener('afterprint', stop);
    };
  }, [isList]);
  const panel = useRef<HTMLDivElement>(null);
  /** What opened the panel by keyboard gets the focus back. */
  const opener = useRef<Element | null>(null);
  /** Opens a type for whoever does not look at the drawing. */
  const openPanel = (type: string): void => {
    opener.current = document.activeElement;
    flushSync(() => go({ type }));
    requestAnimationFrame(() => panel.current?.focus());
  };

  const closePanel = (): void => {
    go({ type: undefined });
    if (opener.current instanceof HTMLElement) opener.current.focus();
    opener.current = null;
  };

  const move = (uid: string, to: Point): void =>
    setMoved((before) => {
      const after = new Map(before).set(uid, { x: Math.round(to.x), y: Math.round(to.y) });
      keepMoved(after);
      return after;
    });
  const arrange = (): void => {
    keepMoved(new Map());
    setMoved(new Map());
  };
  const toggleRows = (uid: string): void =>
    setWhole((before) => {
      const after = new Set(before);
      if (!after.delete(uid)) after.add(uid);
      return after;
    });
  const exportSvg = (): void => {
    flushSync(() => setPrinting(true));
    const svg = sheet.current?.querySelector('svg');
    if (svg) download('model.svg', new XMLSerializer().serializeToString(svg), 'image/svg+xml');
    setPrinting(false);
  };

  return (
    <div className={classes['room']}>
      <Group gap="sm">
        <Title order={1}>{texts.title}</Title>
        <TextInput
          aria-label={texts.find}
          placeholder={texts.find}
          leftSection={<IconSearch size={16} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            const [first] = matching(graph.types, text);
            if (event.key === 'Enter' && first !== undefined) openPanel(first);
          }}
          flex="1 1 200px"
          maw={360}
        />
        <VisuallyHidden role="status">
          {found ? texts.found(found.size) : selected ? texts.opened(selected.displayName) : ''}
        </VisuallyHidden>
        <Switch
          label={texts.components}
          checked={components}
          onChange={(event) => go({ components: event.currentTarget.checked || undefined })}
        />
        <Switch
          label={texts.plugins}
          checked={plugins}
          onChange={(event) => go({ plugins: event.currentTarget.checked || undefined })}
        />
        <SegmentedControl
          aria-label={texts.view.label}
          size="xs"
          data={[
            { value: 'drawing', label: texts.view.drawing },
            { value: 'list', label: texts.view.list },
          ]}
          value={search.view ?? 'drawing'}
          onChange={(view) => go({ view: view === 'list' ? view : undefined })}
        />
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={texts.more}>
              <IconDotsVertical size={18} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={arrange}>{texts.arrange}</Menu.Item>
            <Menu.Item onClick={exportSvg}>{texts.export}</Menu.Item>
            <Menu.Item onClick={() => window.print()}>{texts.print}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
      {graph.types.length === 0 ? (
        <EmptyState title={texts.empty.title} text={texts.empty.text} />
      ) : (
        <div className={classes['body']} data-view={isList ? 'list' : 'drawing'}>
          {isList ? (
            <TypeList model={model} graph={graph} found={found} onSelect={openPanel} />
          ) : (
            <div className={classes['drawing']}>
              {layout.error && <Fault fault={layout.error} onRetry={() => void layout.refetch()} />}
              {layout.isPending && <Waiting />}
              {layout.data && (
                <>
                  <div className={classes['canvas']}>
                    <Drawing
                      model={model}
                      graph={graph}
                      cards={cards}
                      rects={rects}
                      edges={edges}
                      onToggle={toggleRows}
                      found={found}
                      selected={selected?.uid ?? null}
                      onMove={move}
                      onSelect={(type) => go({ type: type ?? undefined })}
                    />
                  </div>
                  <Legend edges={graph.edges} />
                </>
              )}
            </div>
          )}
          {selected && (
            <div ref={panel} className={classes['panel']} tabIndex={-1}>
              <TypePanel model={model} type={selected} edges={graph.edges} onClose={closePanel} />
            </div>
          )}
        </div>
      )}
      {isPrinting && (
        <div ref={sheet} className={classes['print']}>
          <Sheet model={model} cards={cards} rects={rects} edges={edges} />
        </div>
      )}
    </div>
  );
};

const rectsOf = (
  cards: ReadonlyMap<string, Card>,
  laidOut: Positions | null,
  moved: Positions,
): ReadonlyMap<string, Rect> =>
  new Map(
    [...cards].flatMap(([uid, { width, height }]): [string, Rect][] => {
      const at = moved.get(uid) ?? laidOut?.get(uid);
      return at ? [[uid, { ...at, width, height }]] : [];
    }),
  );
