/** A dialog that picks files for a media attribute: those of the library, or new ones. */
import { Button, Group, Modal, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { words } from '../../words/index.js';
import { type Kind, kindOf, type MediaFile } from './files.js';
import { Library } from './Library.js';
import { changed, firstListing } from './listing.js';
import { noSelection, type Selection } from './selection.js';

const texts = words.media.picker;

interface MediaPickerProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** One file, or several. */
  readonly multiple: boolean;
  /** What the attribute takes: `kindsAllowed(attribute.media.allowedTypes)`; all by default. */
  readonly kinds?: readonly Kind[];
  /** Ids of files that the attribute has; they are marked. */
  readonly chosen?: readonly number[];
  /** In the order in which they were chosen. The dialog closes itself. */
  readonly onPick: (files: readonly MediaFile[]) => void;
}

export const MediaPicker = (props: MediaPickerProps) => {
  const isNarrow = useMediaQuery('(max-width: 640px)') ?? false;
  const { opened, onClose, multiple } = props;
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={texts.title(multiple)}
      size="min(1100px, 94vw)"
      fullScreen={isNarrow}
      closeButtonProps={{ 'aria-label': words.shell.close }}
    >
      {opened && <Picker {...props} />}
    </Modal>
  );
};

const Picker = ({ onClose, multiple, kinds, chosen = [], onPick }: MediaPickerProps) => {
  const [listing, setListing] = useState(firstListing);
  const [selection, setSelection] = useState<Selection>(noSelection);
  // files stay chosen while other pages and folders are looked at
  const known = useRef(new Map<number, MediaFile>());
  const picked = [...selection.ids].flatMap((id) => known.current.get(id) ?? []);
  return (
    <>
      <Library
        listing={listing}
        onListing={(change) => setListing((it) => changed(it, change))}
        {...(kinds ? { kinds } : {})}
        single={!multiple}
        mode="choose"
        selection={selection}
        onSelection={setSelection}
        onShown={(files) => {
          for (const file of files) known.current.set(file.id, file);
        }}
        note={(file) => (chosen.includes(file.id) ? texts.chosen : null)}
        onUploaded={(files) => {
          for (const file of files) known.current.set(file.id, file);
          const fitting = files.filter((it) => !kinds || kinds.includes(kindOf(it.mime))).map((it) => it.id);
          if (fitting.length > 0)
            setSelection(({ ids }) => ({
              ids: new Set(multiple ? [...ids, ...fitting] : fitting.slice(-1)),
              anchor: fitting.at(-1) ?? null,
            }));
        }}
      />
      <Group justify="flex-end" mt="md" gap="xs">
        {picked.length > 0 && (
          <Text size="sm" c="dimmed" flex={1} role="status">
            {words.media.selected(picked.length)}
          </Text>
        )}
        <Button variant="default" onClick={onClose}>
          {texts.cancel}
        </Button>
        <Button
          disabled={picked.length === 0}
          onClick={() => {
            onPick(picked);
            onClose();
          }}
        >
          {texts.choose(picked.length)}
        </Button>
      </Group>
    </>
  );
};
