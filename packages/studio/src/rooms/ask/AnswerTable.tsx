/** The answer as a table: an entry a row, a field a column. Only the rows in sight are drawn. */
import { Table } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { cellText, entriesIn, shownEntry } from './readable.js';

const ROW_PX = 35;

export const AnswerTable = ({
  body,
  type,
  model,
}: {
  readonly body: unknown;
  readonly type: Type;
  readonly model: Model;
}) => {
  const entries = useMemo(() => entriesIn(body).entries.map((it) => shownEntry(it, [type])), [body, type]);
  const columns = useMemo(() => [...new Set(entries.flatMap((it) => it.fields.map(([name]) => name)))], [entries]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  const shown = virtual.getVirtualItems();
  const above = shown[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section ref={scroller} className="ask-scroll" tabIndex={0} aria-label={words.ask.answer.table}>
      <Table stickyHeader withColumnBorders aria-rowcount={entries.length + 1} className="ask-table">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>id</Table.Th>
            {columns.map((it) => (
              <Table.Th key={it}>{it}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {above > 0 && <tr aria-hidden style={{ height: above }} />}
          {shown.map(({ index }) => {
            const entry = entries[index];
            if (!entry) return null;
            const values = new Map(entry.fields);
            return (
              <Table.Tr key={index} aria-rowindex={index + 2}>
                <Table.Td>{entry.id}</Table.Td>
                {columns.map((name) => {
                  const text = values.has(name) ? cellText(values.get(name), name, entry.type, model) : '';
                  const isNumber = typeof values.get(name) === 'number';
                  return (
                    <Table.Td key={name} title={text} ta={isNumber ? 'right' : undefined}>
                      <div className="ask-cell" dir="auto">
                        {text.slice(0, 300)}
                      </div>
                    </Table.Td>
                  );
                })}
              </Table.Tr>
            );
          })}
          {below > 0 && <tr aria-hidden style={{ height: below }} />}
        </Table.Tbody>
      </Table>
    </section>
  );
};
