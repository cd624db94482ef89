/** What stands above the editor of blocks: the kind of the block, marks, links and images. */
import { ActionIcon, Button, Group, Modal, NativeSelect, TextInput, Tooltip } from '@mantine/core';
import {
  IconBold,
  IconCode,
  IconItalic,
  IconLink,
  IconPhoto,
  IconStrikethrough,
  IconUnderline,
} from '@tabler/icons-react';
import { type ComponentType, useState } from 'react';
import { Editor, type Range } from 'slate';
import { ReactEditor, useSlate } from 'slate-react';
import { MediaPicker } from '../../../parts/media/LazyMediaPicker.js';
import { words } from '../../../words/index.js';
import {
  insertImage,
  isMarked,
  linkAt,
  type Mark,
  marks,
  type Shape,
  setLink,
  shape,
  shapeAt,
  shapes,
  takeSelection,
  toggleMark,
} from './block-edits.js';

const texts = words.content.controls.blocks;

const markIcons: Readonly<Record<Mark, ComponentType<{ size: number }>>> = {
  bold: IconBold,
  italic: IconItalic,
  underline: IconUnderline,
  strikethrough: IconStrikethrough,
  code: IconCode,
};

export const BlocksToolbar = () => {
  const editor = useSlate();
  const [link, setLinkText] = useState<{ readonly url: string; readonly at: Range } | null>(null);
  const [isPicking, setPicking] = useState(false);
  const back = (): void => ReactEditor.focus(editor);
  return (
    <Group gap={2} mb={4} role="toolbar" aria-label={texts.tools} wrap="wrap">
      <NativeSelect
        size="xs"
        aria-label={texts.shape}
        value={shapeAt(editor)}
        onChange={(event) => {
          shape(editor, event.currentTarget.value as Shape);
          back();
        }}
      >
        {shapes.map((it) => (
          <option key={it} value={it}>
            {texts.shapes[it]}
          </option>
        ))}
      </NativeSelect>
      {marks.map((mark) => {
        const Icon = markIcons[mark];
        return (
          <Tooltip key={mark} label={texts.marks[mark]}>
            <ActionIcon
              variant={isMarked(editor, mark) ? 'light' : 'subtle'}
              color="gray"
              aria-label={texts.marks[mark]}
              aria-pressed={isMarked(editor, mark)}
              // the selection stays where it is
              onMouseDown={(event) => {
                event.preventDefault();
                takeSelection(editor);
              }}
              onClick={() => {
                toggleMark(editor, mark);
                back();
              }}
            >
              <Icon size={16} />
            </ActionIcon>
          </Tooltip>
        );
      })}
      <Tooltip label={texts.link}>
        <ActionIcon
          variant={linkAt(editor) ? 'light' : 'subtle'}
          color="gray"
          aria-label={texts.link}
          onMouseDown={(event) => {
            event.preventDefault();
            takeSelection(editor);
          }}
          onClick={() => {
            const at = editor.selection ?? Editor.range(editor, Editor.end(editor, []));
            setLinkText({ url: linkAt(editor)?.[0].url ?? '', at });
          }}
        >
          <IconLink size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={texts.image}>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.image} onClick={() => setPicking(true)}>
          <IconPhoto size={16} />
        </ActionIcon>
      </Tooltip>
      <Modal
        opened={link !== null}
        onClose={() => setLinkText(null)}
        title={texts.link}
        closeButtonProps={{ 'aria-label': texts.cancel }}
      >
        {link && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              event.stopPropagation();
              setLink(editor, link.url.trim(), link.at);
              setLinkText(null);
            }}
          >
            <TextInput
              label={texts.url}
              description={texts.urlHint}
              data-autofocus
              value={link.url}
              onChange={(event) => setLinkText({ ...link, url: event.currentTarget.value })}
            />
            <Button type="submit" mt="sm">
              {texts.setLink}
            </Button>
          </form>
        )}
      </Modal>
      {isPicking && (
        <MediaPicker
          opened
          onClose={() => setPicking(false)}
          multiple={false}
          kinds={['image']}
          onPick={([file]) => {
            if (file) insertImage(editor, file);
          }}
        />
      )}
    </Group>
  );
};
