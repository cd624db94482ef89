/** Name, texts and folder of a file, changed in place. What somebody else has stored meanwhile is named, not overwritten. */
import { Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { DovetailError } from 'dovetail-client';
import { type FormEvent, useState } from 'react';
import { Fault } from '../../parts/Fault.js';
import type { MediaFile } from '../../parts/media/files.js';
import { pathOf } from '../../parts/media/folders.js';
import { fileOptions, useFolders, useMediaRights, useRefresh } from '../../parts/media/library.js';
import { Section } from '../../parts/Section.js';
import { useClient } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { words } from '../../words/index.js';
import { AskToStay } from './AskToStay.js';
import { FolderSelect } from './FolderSelect.js';

const { file: texts, may, top } = words.media;

interface Described {
  readonly name: string;
  readonly alternativeText: string;
  readonly caption: string;
  readonly folder: number | null;
}

const describedOf = ({ name, alternativeText, caption, folder }: MediaFile): Described => ({
  name,
  alternativeText: alternativeText ?? '',
  caption: caption ?? '',
  folder: folder?.id ?? null,
});

/** A text as it is edited, and as it was stored when the editing began. */
interface Edit {
  readonly value: string | number | null;
  readonly base: string | number | null;
}

export const FileDetails = ({ file, etag }: { readonly file: MediaFile; readonly etag: string | null }) => {
  const client = useClient();
  const queries = useQueryClient();
  const refresh = useRefresh();
  const rights = useMediaRights();
  const folders = useFolders().data ?? [];
  const [edits, setEdits] = useState<Partial<Record<keyof Described, Edit>>>({});
  const [state, setState] = useState<'idle' | 'saving' | 'saved' | 'conflict'>('idle');
  const [fault, setFault] = useState<unknown>(null);
  const stored = describedOf(file);
  const changes = Object.fromEntries(
    Object.entries(edits)
      .filter(([name, { value }]) => value !== stored[name as keyof Described])
      .map(([name, { value }]) => [name, value]),
  ) as Partial<Described>;
  const shown: Described = { ...stored, ...changes };
  const isChanged = Object.keys(changes).length > 0;

  const edit = (name: keyof Described, value: Edit['value']): void => {
    setEdits((it) => ({ ...it, [name]: { value, base: (it[name] ?? { base: stored[name] }).base } }));
    if (state === 'saved') setState('idle');
  };
  const discard = (): void => {
    setEdits({});
    setState('idle');
    setFault(null);
  };
  const save = async (): Promise<boolean> => {
    setState('saving');
    setFault(null);
    try {
      await client.files.describe(file.id, changes, etag === null ? {} : { headers: { 'if-match': etag } });
      await refresh();
      // what was typed meanwhile stays
      setEdits((now) =>
        Object.fromEntries(
          Object.entries(now).flatMap(([name, { value }]) => {
            const base = shown[name as keyof Described];
            return value === base ? [] : [[name, { value, base }]];
          }),
        ),
      );
      setState('saved');
      return true;
    } catch (it) {
      if (it instanceof DovetailError && it.status === 412) {
        await readAgain(queries, fileOptions(client, file.id));
        setState('conflict');
      } else {
        setFault(it);
        setState('idle');
      }
      return false;
    }
  };
  const disabled = !rights.update;
  /** What somebody else has stored since this was edited, and a save would replace. */
  const meanwhile = (name: keyof Described): string | null => {
    const it = edits[name];
    if (!it || it.base === stored[name] || it.value === stored[name]) return null;
    const theirs = stored[name];
    const text = name === 'folder' ? (pathOf(folders, typeof theirs === 'number' ? theirs : null) ?? top) : theirs;
    return texts.meanwhile(String(text ?? ''));
  };
  return (
    <Section title={texts.details}>
      <AskToStay isChanged={isChanged} maySave={!disabled && shown.name.trim() !== ''} onSave={save} />
      <form
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          void save();
        }}
      >
        <Stack gap="sm">
          {disabled && (
            <Text size="sm" c="dimmed">
              {may.notUpdate}
            </Text>
          )}
          <TextInput
            label={texts.name}
            required
            disabled={disabled}
            value={shown.name}
            error={meanwhile('name')}
            onChange={({ currentTarget: { value } }) => edit('name', value)}
          />
          <Textarea
            label={texts.alternativeText}
            description={texts.alternativeHint}
            autosize
            minRows={2}
            disabled={disabled}
            value={shown.alternativeText}
            error={meanwhile('alternativeText')}
            onChange={({ currentTarget: { value } }) => edit('alternativeText', value)}
          />
          <Textarea
            label={texts.caption}
            autosize
            minRows={2}
            disabled={disabled}
            value={shown.caption}
            error={meanwhile('caption')}
            onChange={({ currentTarget: { value } }) => edit('caption', value)}
          />
          <FolderSelect
            label={texts.folder}
            folders={folders}
            disabled={disabled}
            value={shown.folder}
            error={meanwhile('folder')}
            onChange={(folder) => edit('folder', folder)}
          />
          {state === 'conflict' && (
            <Text role="alert" size="sm">
              {texts.changedElsewhere}
            </Text>
          )}
          {fault !== null && <Fault fault={fault} />}
          <Group gap="xs">
            <Button type="submit" size="sm" disabled={!isChanged || disabled} loading={state === 'saving'}>
              {texts.save}
            </Button>
            {isChanged && (
              <Button size="sm" variant="subtle" onClick={discard}>
                {texts.discard}
              </Button>
            )}
            <Text size="sm" c="dimmed" role="status">
              {state === 'saved' && !isChanged && texts.saved}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  );
};
