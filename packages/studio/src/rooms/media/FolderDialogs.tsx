/** New folders, and what is done with one. */
import { ActionIcon, Menu, TextInput } from '@mantine/core';
import { IconArrowsMove, IconDots, IconFolderPlus, IconPencil, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { FormDialog } from '../../parts/FormDialog.js';
import { MayButton } from '../../parts/MayButton.js';
import { contentsOf, type Folder, mayMoveTo, trailOf } from '../../parts/media/folders.js';
import { folderActions, useMediaRights, useRefresh } from '../../parts/media/library.js';
import { words } from '../../words/index.js';
import { FolderSelect } from './FolderSelect.js';

const texts = words.media.folder;

type Asked = 'create' | 'rename' | 'move' | null;

export const FolderActions = ({
  folders,
  folder,
  onFolder,
}: {
  readonly folders: readonly Folder[];
  /** The one that is looked at; null at the top. */
  readonly folder: Folder | null;
  readonly onFolder: (id: number | null) => void;
}) => {
  const rights = useMediaRights();
  const refresh = useRefresh();
  const [asked, setAsked] = useState<Asked>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const askToDelete = (it: Folder): void => {
    const held = contentsOf(folders, it.id);
    const isEmpty = held.files === 0 && held.folders === 0;
    setQuestion({
      title: texts.deleteTitle(it.name),
      text: isEmpty ? texts.deleteEmpty : texts.deleteFull(held),
      action: isEmpty ? texts.delete : null,
      run: async () => {
        await folderActions.remove(it.id);
        onFolder(it.parent);
        await refresh();
      },
    });
  };
  return (
    <>
      <MayButton
        size="xs"
        variant="default"
        leftSection={<IconFolderPlus size={16} />}
        may={rights.createFolders}
        why={words.media.may.notCreateFolders}
        onClick={() => setAsked('create')}
      >
        {texts.create}
      </MayButton>
      {folder && rights.updateFolders && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" size={30} aria-label={texts.actions(folder.name)}>
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setAsked('rename')}>
              {texts.rename}
            </Menu.Item>
            <Menu.Item leftSection={<IconArrowsMove size={16} />} onClick={() => setAsked('move')}>
              {texts.move}
            </Menu.Item>
            <Menu.Item leftSection={<IconTrash size={16} />} onClick={() => askToDelete(folder)}>
              {texts.delete}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      <FolderForm
        key={`${asked} ${folder?.id}`}
        asked={asked}
        folders={folders}
        folder={folder}
        onClose={() => setAsked(null)}
      />
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </>
  );
};

const FolderForm = ({
  asked,
  folders,
  folder,
  onClose,
}: {
  readonly asked: Asked;
  readonly folders: readonly Folder[];
  readonly folder: Folder | null;
  readonly onClose: () => void;
}) => {
  const refresh = useRefresh();
  const [name, setName] = useState(asked === 'rename' ? (folder?.name ?? '') : '');
  const [parent, setParent] = useState(folder?.parent ?? null);
  const where = trailOf(folders, folder?.id ?? null).at(-1)?.name ?? words.media.top;

  const save = async (): Promise<unknown> => {
    switch (asked) {
      case 'create':
        return folderActions.create(name.trim(), folder?.id ?? null);
      case 'rename':
        return folderActions.update(folder!.id, { name: name.trim() });
      case 'move':
        return folderActions.update(folder!.id, { parent });
      case null:
        return null;
    }
  };
  const mayMove = folder !== null && mayMoveTo(folders, folder.id, parent);
  return (
    <FormDialog
      opened={asked !== null}
      title={asked === 'create' ? texts.createIn(where) : asked === 'rename' ? texts.rename : texts.move}
      action={asked === 'create' ? texts.create : texts.save}
      missing={
        asked === 'move' ? (mayMove ? null : texts.targetMissing) : name.trim() === '' ? texts.nameMissing : null
      }
      onSubmit={save}
      onSaved={refresh}
      onClose={onClose}
    >
      {asked === 'move' && folder ? (
        <FolderSelect
          label={texts.to}
          folders={folders}
          value={parent}
          onChange={setParent}
          isTarget={(it) => it === folder.parent || mayMoveTo(folders, folder.id, it)}
        />
      ) : (
        <TextInput
          label={texts.name}
          data-autofocus
          required
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
      )}
    </FormDialog>
  );
};
