/** The answer as a tree; only the rows in sight are drawn. */
import { ActionIcon } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { answerRows } from './readable.js';
import { keyedRows, moveIn } from './tree-keys.js';

const ROW_PX = 26;

export const AnswerTree = ({
  body,
  type,
  model,
}: {
  readonly body: unknown;
  readonly type: Type;
  readonly model: Model;
}) => {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(() => new Set());
  const rows = useMemo(() => answerRows(body, type, model, toggled), [body, type, model, toggled]);
  const [activeId, setActiveId] = useState('/0');
  const active = rows.some((it) => it.id === activeId) ? activeId : (rows[0]?.id ?? '');
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const toggle = (id: string): void => {
    const next = new Set(toggled);
    if (!next.delete(id)) next.add(id);
    setToggled(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = moveIn(
      keyedRows(rows, (it) => `${it.label} ${it.text}`),
      active,
      event,
    );
    if (move === null) {
      const row = rows.find((it) => it.id === active);
      if ((event.key !== ' ' && event.key !== 'Enter') || row?.expanded === null) return;
      toggle(active);
    } else if ('open' in move) toggle(active);
    else if (move.to !== null) {
      const { to } = move;
      setActiveId(to);
      virtual.scrollToIndex(rows.findIndex((it) => it.id === to));
      requestAnimationFrame(() => document.getElementById(`answer${to}`)?.focus());
    }
    event.preventDefault();
  };
  return (
    <div ref={scroller} className="ask-scroll">
      <div
        role="tree"
        aria-label={words.ask.answer.tree}
        style={{ height: virtual.getTotalSize(), position: 'relative' }}
        onKeyDown={onKeyDown}
      >
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <div
              key={row.id}
              id={`answer${row.id}`}
              role="treeitem"
              aria-level={row.level}
              aria-expanded={row.expanded ?? undefined}
              aria-selected={row.id === active}
              tabIndex={row.id === active ? 0 : -1}
              className="ask-answer-row"
              style={{ transform: `translateY(${start}px)`, paddingLeft: (row.level - 1) * 16 }}
              onFocus={() => setActiveId(row.id)}
            >
              {row.expanded === null ? (
                <span className="ask-gap" />
              ) : (
                <ActionIcon
                  size="xs"
                  variant="subtle"
                  color="gray"
                  tabIndex={-1}
                  aria-label={row.expanded ? words.ask.tree.close(row.label) : words.ask.tree.open(row.label)}
                  onClick={() => toggle(row.id)}
                >
                  {row.expanded ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
                </ActionIcon>
              )}
              <span className={row.isEntry ? 'ask-answer-id' : 'ask-answer-name'}>{row.label}</span>{' '}
              <span className="ask-answer-text" dir="auto" title={row.text}>
                {row.text}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
};
