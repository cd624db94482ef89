/** Chooses a folder by its path. */
import { Select } from '@mantine/core';
import { useMemo } from 'react';
import { type Folder, pathOf } from '../../parts/media/folders.js';
import { words } from '../../words/index.js';

const TOP = 'top';
/** Of what is typed; a list of all would take long to be drawn. */
const CHOICES_MAX = 100;

export const FolderSelect = ({
  folders,
  value,
  onChange,
  isTarget = () => true,
  label,
  disabled = false,
  error = null,
}: {
  readonly folders: readonly Folder[];
  readonly value: number | null;
  readonly onChange: (folder: number | null) => void;
  /** Which can be chosen. */
  readonly isTarget?: (folder: number | null) => boolean;
  readonly label: string;
  readonly disabled?: boolean;
  readonly error?: string | null;
}) => {
  const paths = useMemo(
    () =>
      folders
        .map(({ id }) => ({ id, label: pathOf(folders, id) ?? '' }))
        .sort((a, b) => a.label.localeCompare(b.label, undefined, { numeric: true })),
    [folders],
  );
  const choices = paths.map(({ id, label: path }) => ({ value: String(id), label: path, disabled: !isTarget(id) }));
  return (
    <Select
      label={label}
      searchable
      allowDeselect={false}
      disabled={disabled}
      error={error}
      data={[{ value: TOP, label: words.media.top, disabled: !isTarget(null) }, ...choices]}
      limit={CHOICES_MAX}
      nothingFoundMessage={words.media.folder.nothingFound}
      value={value === null ? TOP : String(value)}
      onChange={(it) => onChange(it === null || it === TOP ? null : Number(it))}
    />
  );
};
