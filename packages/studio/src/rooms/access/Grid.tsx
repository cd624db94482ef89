/** Actions as rows, whoever may do them as columns, a box where they meet. */
import { VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import type { Action } from './grants.js';
import { actionName, neighbour, type Section, triOf } from './grid.js';

const texts = words.access.roles;

interface Column {
  readonly key: string | number;
  readonly name: string;
  /** The head of the column. */
  readonly head: ReactNode;
  readonly isGranted: (action: Action) => boolean;
  readonly isEdited: (action: Action) => boolean;
  readonly onSet: (actions: readonly Action[], granted: boolean) => void;
}

interface GridProps {
  readonly label: string;
  readonly sections: readonly Section[];
  readonly columns: readonly Column[];
  readonly disabled: boolean;
  /** What an action is beside its name: the request that it allows. */
  readonly noteOf?: (action: Action) => string | null;
}

export const Grid = ({ label, sections, columns, disabled, noteOf }: GridProps) => {
  const table = useRef<HTMLTableElement>(null);
  // one box is in the tab order; arrow keys lead to the others
  const [current, setCurrent] = useState({ row: 0, column: 0 });
  const rowCount = sections.reduce((sum, it) => sum + 1 + it.actions.length, 0);
  const at = { row: Math.min(current.row, rowCount - 1), column: Math.min(current.column, columns.length - 1) };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLInputElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbour(event.key, at, { rows: rowCount, columns: columns.length });
    if (!next) return;
    event.preventDefault();
    setCurrent(next);
    const box = table.current?.querySelector<HTMLInputElement>(`[data-at="${next.row} ${next.column}"]`);
    box?.focus();
    box?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };

  const boxOf = (row: number, column: number, name: string, actions: readonly Action[]): ReactNode => {
    const { isGranted, onSet } = columns[column]!;
    const state = triOf(actions, isGranted);
    return (
      <input
        type="checkbox"
        className={styles['box']}
        aria-label={name}
        data-at={`${row} ${column}`}
        tabIndex={row === at.row && column === at.column ? 0 : -1}
        disabled={disabled}
        checked={state === 'all'}
        ref={(box) => {
          if (box) box.indeterminate = state === 'some';
        }}
        onFocus={() => setCurrent({ row, column })}
        onChange={() => onSet(actions, state !== 'all')}
      />
    );
  };

  let row = -1;
  return (
    <section className={styles['grid']} tabIndex={disabled ? 0 : -1} aria-label={label}>
      <table ref={table} className={`${styles['table']} ${styles['wide']}`} onKeyDown={onKeyDown}>
        <caption>
          <VisuallyHidden>
            {label}. {texts.keys}
          </VisuallyHidden>
        </caption>
        <thead>
          <tr>
            <th scope="col">{texts.type}</th>
            {columns.map((it) => (
              <th key={it.key} scope="col">
                {it.head}
              </th>
            ))}
          </tr>
        </thead>
        {sections.map((section) => {
          row += 1;
          const head = row;
          return (
            <tbody key={section.subject}>
              <tr className={styles['section']}>
                <th scope="rowgroup">
                  {section.label}
                  <span className={styles['small']}>{section.subject}</span>
                </th>
                {columns.map((it, column) => (
                  <td key={it.key}>{boxOf(head, column, texts.allOf(it.name, section.label), section.actions)}</td>
                ))}
              </tr>
              {section.actions.map((action) => {
                row += 1;
                const own = row;
                const note = noteOf?.(action);
                return (
                  <tr key={action}>
                    <th scope="row">
                      {actionName(action)}
                      {note && <span className={styles['small']}>{note}</span>}
                    </th>
                    {columns.map((it, column) => {
                      const isEdited = it.isEdited(action);
                      return (
                        <td key={it.key} className={isEdited ? styles['edited'] : undefined}>
                          {boxOf(own, column, texts.actionOf(it.name, actionName(action), section.label), [action])}
                          {isEdited && <VisuallyHidden>{texts.changed}</VisuallyHidden>}
                        </td>
                      );
                    })}
                  </tr>
                );
              })}
            </tbody>
          );
        })}
      </table>
    </section>
  );
};
