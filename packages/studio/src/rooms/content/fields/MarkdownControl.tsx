/** Markdown with a preview. The preview is made of React's elements: HTML in the text is shown as text, and never runs. */
import { ActionIcon, Group, Paper, SegmentedControl, Text, Textarea, Tooltip, Typography } from '@mantine/core';
import {
  IconBlockquote,
  IconBold,
  IconCode,
  IconHeading,
  IconItalic,
  IconLink,
  IconList,
  IconListNumbers,
} from '@tabler/icons-react';
import { type ComponentProps, type ComponentType, useRef, useState } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { addressOf } from '../../../parts/media/files.js';
import { serverUrl } from '../../../server/address.js';
import { words } from '../../../words/index.js';
import { describedBy, Framed } from './Framed.js';
import styles from './fields.module.css';
import { elementId } from './form-context.js';
import { editMarkdown, type MarkdownEdit } from './markdown-edits.js';
import type { ScalarProps } from './scalar-control.js';

const texts = words.content.controls.markdown;

const tools: readonly (readonly [MarkdownEdit, ComponentType<{ size: number }>])[] = [
  ['bold', IconBold],
  ['italic', IconItalic],
  ['heading', IconHeading],
  ['link', IconLink],
  ['bullets', IconList],
  ['numbers', IconListNumbers],
  ['quote', IconBlockquote],
  ['code', IconCode],
];

export const MarkdownControl = ({ path, field, onChange, readOnly, frame }: ScalarProps) => {
  const [view, setView] = useState<'write' | 'preview'>('write');
  const area = useRef<HTMLTextAreaElement>(null);
  const text = field.value === null ? '' : String(field.value);
  const apply = (edit: MarkdownEdit): void => {
    const element = area.current;
    if (!element) return;
    const next = editMarkdown({ text, start: element.selectionStart, end: element.selectionEnd }, edit);
    onChange({ kind: 'scalar', value: next.text });
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(next.start, next.end);
    });
  };
  return (
    <Framed
      path={path}
      frame={frame}
      side={
        <SegmentedControl
          size="xs"
          aria-label={texts.view}
          value={view}
          onChange={(next) => setView(next === 'preview' ? 'preview' : 'write')}
          data={[
            { value: 'write', label: texts.write },
            { value: 'preview', label: texts.preview },
          ]}
        />
      }
    >
      {view === 'preview' ? (
        <Paper withBorder p="sm" role="region" aria-label={texts.preview} mih={120}>
          <Typography dir="auto">
            <Markdown remarkPlugins={[remarkGfm]} components={previewParts}>
              {text}
            </Markdown>
          </Typography>
          {text === '' && <Text c="dimmed">{texts.nothing}</Text>}
        </Paper>
      ) : (
        <>
          {!readOnly && (
            <Group gap={2} mb={4} role="toolbar" aria-label={texts.tools} wrap="wrap">
              {tools.map(([edit, Icon]) => (
                <Tooltip key={edit} label={texts.edits[edit]}>
                  <ActionIcon variant="subtle" color="gray" aria-label={texts.edits[edit]} onClick={() => apply(edit)}>
                    <Icon size={16} />
                  </ActionIcon>
                </Tooltip>
              ))}
            </Group>
          )}
          <Textarea
            id={elementId(path)}
            ref={area}
            aria-labelledby={elementId(path, 'label')}
            aria-describedby={describedBy(path, frame)}
            error={frame.error !== undefined}
            autosize
            minRows={6}
            maxRows={28}
            value={text}
            readOnly={readOnly}
            placeholder={field.value === null ? words.content.controls.none : ''}
            onChange={(event) => onChange({ kind: 'scalar', value: event.currentTarget.value || null })}
            onKeyDown={(event) => {
              if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
              const edit = event.key === 'b' ? 'bold' : event.key === 'i' ? 'italic' : null;
              if (edit === null) return;
              event.preventDefault();
              apply(edit);
            }}
          />
        </>
      )}
    </Framed>
  );
};
export default MarkdownControl;

const PreviewLink = ({ href, children }: ComponentProps<'a'>) => (
  <a href={href} target="_blank" rel="noreferrer noopener">
    {children}
  </a>
);

const PreviewImage = ({ src, alt }: ComponentProps<'img'>) => (
  // an address that is not safe to follow has been emptied
  <img src={src ? addressOf(src, serverUrl) : undefined} alt={alt ?? ''} />
);

/** The page's headings are about the form, not about what is written in it. */
const headingOf = (level: number) =>
  function PreviewHeading({ children }: ComponentProps<'h1'>) {
    return (
      <p className={styles['heading']} data-level={level}>
        {children}
      </p>
    );
  };

const previewParts: Components = {
  a: PreviewLink,
  img: PreviewImage,
  h1: headingOf(1),
  h2: headingOf(2),
  h3: headingOf(3),
  h4: headingOf(4),
  h5: headingOf(5),
  h6: headingOf(6),
};
