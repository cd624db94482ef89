/** Files of an attribute: picked from the library, uploaded by drop, and put in order. */
import { rectSortingStrategy, useSortable } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { ActionIcon, Anchor, Button, FileButton, Group, Text, Tooltip } from '@mantine/core';
import { IconChevronLeft, IconChevronRight, IconGripVertical, IconUpload, IconX } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import type { Attribute } from '../../../model/model.js';
import { ByteSize, byteSize } from '../../../parts/ByteSize.js';
import { useFocusNext } from '../../../parts/focus-next.js';
import { IconButton } from '../../../parts/IconButton.js';
import { MayButton } from '../../../parts/MayButton.js';
import { DropZone } from '../../../parts/media/DropZone.js';
import {
  acceptOf,
  addressOf,
  bytesOf,
  formatsOf,
  kindOf,
  kindsAllowed,
  type MediaFile,
} from '../../../parts/media/files.js';
import { MediaPicker } from '../../../parts/media/LazyMediaPicker.js';
import { useMediaRights, useUploads } from '../../../parts/media/library.js';
import { Picture } from '../../../parts/media/Picture.js';
import { UploadPanel } from '../../../parts/media/UploadPanel.js';
import { serverUrl } from '../../../server/address.js';
import { words } from '../../../words/index.js';
import type { FieldPath, MediaField } from '../form/fields.js';
import { SortableList } from '../SortableList.js';
import { describedBy, type Frame, Framed } from './Framed.js';
import styles from './fields.module.css';
import { elementId } from './form-context.js';

const texts = words.content.media;

interface MediaControlProps {
  readonly attribute: Attribute;
  readonly path: FieldPath;
  readonly field: MediaField;
  readonly onChange: (field: MediaField) => void;
  readonly readOnly: boolean;
  readonly frame: Frame;
}

export const MediaControl = ({ attribute, path, field: { files }, onChange, readOnly, frame }: MediaControlProps) => {
  const { multiple = false, allowedTypes = null } = attribute.media ?? {};
  const kinds = kindsAllowed(allowedTypes);
  const rights = useMediaRights();
  const { uploads, list } = useUploads();
  const [isPicking, setPicking] = useState(false);
  const [hasUploaded, setUploaded] = useState(false);
  const [refused, setRefused] = useState<readonly string[]>([]);

  // uploads end later than they begin: what is there by then counts
  const current = useRef(files);
  current.current = files;
  const set = (next: readonly MediaFile[]): void => onChange({ kind: 'media', files: next });
  const add = (added: readonly MediaFile[]): void => {
    const known = new Set(current.current.map(({ id }) => id));
    const fresh = added.filter(({ id }) => !known.has(id));
    set(multiple ? [...current.current, ...fresh] : added.slice(-1));
  };
  const send = async (given: readonly File[]): Promise<void> => {
    const fitting = given.filter((it) => kinds.includes(kindOf(it.type)));
    setRefused(given.filter((it) => !fitting.includes(it)).map(({ name }) => name));
    if (fitting.length === 0) return;
    setUploaded(true);
    const stored = await uploads.add(multiple ? fitting : fitting.slice(-1), null, (it) => add([it]));
    if (stored.length > 0) add(stored);
  };
  const move = (id: number, to: number): void => {
    const from = files.findIndex((it) => it.id === id);
    const file = files[from];
    if (file === undefined || to < 0 || to >= files.length || to === from) return;
    const rest = files.filter((it) => it.id !== id);
    set([...rest.slice(0, to), file, ...rest.slice(to)]);
  };
  const ids = useMemo(() => files.map(({ id }) => id), [files]);
  const focusNext = useFocusNext();
  const moveByButton = (id: number, to: number, button: string): void => {
    // at an end, the button that was pressed is disabled
    focusNext.current = [button, 'earlier', 'later'].map((it) => buttonId(path, id, it));
    move(id, to);
  };
  const remove = (id: number): void => {
    const place = ids.indexOf(id);
    const neighbour = ids[place + 1] ?? ids[place - 1];
    focusNext.current = [neighbour === undefined ? elementId(path, 'pick') : buttonId(path, neighbour, 'remove')];
    set(files.filter((it) => it.id !== id));
  };
  const accept = acceptOf(kinds);
  const mayUpload = rights.create && !readOnly;
  return (
    <Framed path={path} frame={frame}>
      <div className={styles['drop']}>
        <DropZone where={attribute.name} disabled={!mayUpload} onFiles={(given) => void send(given)}>
          <fieldset
            aria-labelledby={elementId(path, 'label')}
            aria-describedby={describedBy(path, frame)}
            className={styles['files']}
          >
            {files.length === 0 && (
              <Text size="sm" c="dimmed">
                {mayUpload ? texts.noneDrop : texts.none}
              </Text>
            )}
            <SortableList
              ids={ids}
              labelOf={(id) => files.find((it) => it.id === id)?.name ?? ''}
              strategy={rectSortingStrategy}
              onMove={(id, to) => move(Number(id), to)}
            >
              <ul className={styles['fileList']}>
                {files.map((file, place) => (
                  <FileCard
                    key={file.id}
                    file={file}
                    path={path}
                    place={place}
                    count={files.length}
                    readOnly={readOnly}
                    onMove={(to, button) => moveByButton(file.id, to, button)}
                    onRemove={() => remove(file.id)}
                  />
                ))}
              </ul>
            </SortableList>
            {!readOnly && (
              <Group gap="xs" mt="xs">
                <MayButton
                  id={elementId(path, 'pick')}
                  size="xs"
                  variant="default"
                  may={rights.read}
                  why={words.media.may.notRead}
                  onClick={() => setPicking(true)}
                >
                  {texts.pick(attribute.name, multiple || files.length === 0)}
                </MayButton>
                {mayUpload && (
                  <FileButton
                    multiple={multiple}
                    {...(accept === undefined ? {} : { accept })}
                    inputProps={{
                      'aria-label': texts.upload(attribute.name),
                      // the same file can be chosen again
                      onClick: ({ currentTarget }) => {
                        currentTarget.value = '';
                      },
                    }}
                    onChange={(given: File | File[] | null) =>
                      void send(given === null ? [] : Array.isArray(given) ? given : [given])
                    }
                  >
                    {(props) => (
                      <Button {...props} size="xs" variant="default" leftSection={<IconUpload size={14} />}>
                        {texts.upload(attribute.name)}
                      </Button>
                    )}
                  </FileButton>
                )}
              </Group>
            )}
            {refused.length > 0 && (
              <Text size="xs" c="red" role="alert" mt={4}>
                {texts.refused(refused.join(', '), kinds.map((it) => words.media.kinds[it]).join(', '))}
              </Text>
            )}
            {hasUploaded && <UploadPanel uploads={uploads} list={list} />}
          </fieldset>
        </DropZone>
      </div>
      {isPicking && (
        <MediaPicker
          opened
          onClose={() => setPicking(false)}
          multiple={multiple}
          kinds={kinds}
          chosen={files.map(({ id }) => id)}
          onPick={add}
        />
      )}
    </Framed>
  );
};

const buttonId = (path: FieldPath, id: number, button: string): string => elementId(path, `${button}-${id}`);

interface FileCardProps {
  readonly file: MediaFile;
  /** Of the attribute. */
  readonly path: FieldPath;
  readonly place: number;
  readonly count: number;
  readonly readOnly: boolean;
  readonly onMove: (to: number, button: string) => void;
  readonly onRemove: () => void;
}

const FileCard = ({ file, path, place, count, readOnly, onMove, onRemove }: FileCardProps) => {
  const { setNodeRef, transform, transition, attributes, listeners, setActivatorNodeRef } = useSortable({
    id: file.id,
    disabled: readOnly || count < 2,
  });
  const formats = formatsOf(file);
  return (
    <li
      ref={setNodeRef}
      className={styles['file']}
      style={{ transform: CSS.Transform.toString(transform), transition: transition ?? undefined }}
    >
      <Picture file={file} />
      <Anchor href={addressOf(file.url, serverUrl)} target="_blank" rel="noreferrer" size="sm" lineClamp={1}>
        {file.name}
      </Anchor>
      <Text size="xs" c="dimmed">
        {file.width !== null && file.height !== null && `${file.width} × ${file.height} · `}
        <ByteSize bytes={bytesOf(file.size)} />
      </Text>
      {formats.length > 0 && (
        <Text size="xs" c="dimmed">
          {texts.formats}{' '}
          {formats.map(({ name, url, width, height, bytes }, i) => (
            <span key={name}>
              {i > 0 && ', '}
              <Tooltip label={texts.format(width, height, byteSize(bytes))}>
                <Anchor href={addressOf(url, serverUrl)} target="_blank" rel="noreferrer" size="xs" underline="always">
                  {name}
                </Anchor>
              </Tooltip>
            </span>
          ))}
        </Text>
      )}
      {!readOnly && (
        <Group gap={2} wrap="nowrap" justify="flex-end">
          {count > 1 && (
            <>
              <ActionIcon
                ref={setActivatorNodeRef}
                {...attributes}
                {...listeners}
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={texts.drag(file.name)}
                className={styles['handle']}
              >
                <IconGripVertical size={14} />
              </ActionIcon>
              <IconButton
                size="sm"
                id={buttonId(path, file.id, 'earlier')}
                label={texts.earlier(file.name)}
                disabled={place === 0}
                onClick={() => onMove(place - 1, 'earlier')}
              >
                <IconChevronLeft size={14} />
              </IconButton>
              <IconButton
                size="sm"
                id={buttonId(path, file.id, 'later')}
                label={texts.later(file.name)}
                disabled={place === count - 1}
                onClick={() => onMove(place + 1, 'later')}
              >
                <IconChevronRight size={14} />
              </IconButton>
            </>
          )}
          <IconButton
            size="sm"
            id={buttonId(path, file.id, 'remove')}
            label={texts.remove(file.name)}
            onClick={onRemove}
          >
            <IconX size={14} />
          </IconButton>
        </Group>
      )}
    </li>
  );
};
