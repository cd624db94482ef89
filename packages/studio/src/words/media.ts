/** The texts of the room media, and of choosing files. */
import type { Kind } from '../parts/media/files.js';
import type { FileSort } from '../parts/media/listing.js';

const files = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'file' : 'files'}`;
const folders = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'folder' : 'folders'}`;

const places = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'place' : 'places'}`;

const kinds: Readonly<Record<Kind, string>> = { image: 'Images', video: 'Videos', audio: 'Audio', file: 'Other files' };
const kind: Readonly<Record<Kind, string>> = { image: 'Image', video: 'Video', audio: 'Audio', file: 'File' };
const sorts: Readonly<Record<FileSort, string>> = {
  'createdAt:desc': 'Newest first',
  'createdAt:asc': 'Oldest first',
  'name:asc': 'Name, A to Z',
  'name:desc': 'Name, Z to A',
  'updatedAt:desc': 'Recently updated',
  'size:desc': 'Largest first',
};

export const media = {
  title: 'Media library',
  kinds,
  kind,
  sorts,
  files,
  top: 'All media',
  trail: 'Folder',
  search: 'Search files',
  searchHint: 'Name, alternative text or caption, in all folders',
  allKinds: 'All types',
  kindLabel: 'Type',
  sortLabel: 'Sort',
  viewLabel: 'View',
  views: { grid: 'Grid', list: 'List' },
  list: 'Files',
  keys: 'Arrow keys move, Space selects, Enter opens, Shift with an arrow key selects a range, Escape clears the selection, M moves files to a folder.',
  select: (name: string) => `Select ${name}`,
  selected: (count: number) => `${files(count)} selected`,
  selectColumn: 'Selected',
  selectNone: 'Clear selection',
  columns: {
    file: 'File',
    kind: 'Type',
    size: 'Size',
    dimensions: 'Dimensions',
    created: 'Added',
  },
  dimensions: (width: number, height: number) => `${width} × ${height}`,
  empty: {
    found: (text: string) => `No files match “${text}”`,
    foundHint: 'The search covers names, alternative text and captions in all folders.',
    clear: 'Clear search',
    kind: (name: string) => `No files of the type “${name}” here`,
    allKinds: 'Show all types',
    folder: 'This folder is empty',
    folderHint: 'Drop files here, or choose files to upload.',
    folderReadOnly: 'Files appear here when they are added to the folder.',
  },
  upload: {
    action: 'Upload',
    drop: (where: string) => `Drop to upload to ${where}`,
    title: 'Uploads',
    waiting: 'Waiting',
    percent: (percent: number) => `${percent}%`,
    processing: 'Processing',
    failed: 'Failed',
    cancelled: 'Cancelled',
    cancel: (name: string) => `Cancel ${name}`,
    retry: (name: string) => `Retry ${name}`,
    retryAll: 'Retry all',
    cancelAll: 'Cancel all',
    clear: 'Close',
    overall: 'All uploads',
    sent: (sent: string, total: string) => `${sent} of ${total}`,
    summary: (counts: {
      readonly all: number;
      readonly done: number;
      readonly failed: number;
      readonly cancelled: number;
    }) =>
      [
        `${counts.done.toLocaleString('en')} of ${files(counts.all)} uploaded`,
        counts.failed > 0 ? `${counts.failed.toLocaleString('en')} failed` : '',
        counts.cancelled > 0 ? `${counts.cancelled.toLocaleString('en')} cancelled` : '',
      ]
        .filter(Boolean)
        .join(', '),
    unreachable: 'The server is not responding. Check that it is running and that you are connected, then try again.',
    unknown: 'The upload failed.',
    folders: 'Folders cannot be uploaded. Drop the files in them instead.',
    progress: (name: string) => `Progress of ${name}`,
  },
  folder: {
    tree: 'Folders',
    count: (count: number) => files(count),
    none: 'no files',
    all: (count: number) => `Show all ${folders(count)}`,
    nothingFound: 'No matching folders',
    unfold: (name: string) => `Folders in ${name}`,
    create: 'New folder',
    createIn: (where: string) => `New folder in ${where}`,
    name: 'Name',
    rename: 'Rename',
    move: 'Move',
    delete: 'Delete folder',
    actions: (name: string) => `Actions for the folder ${name}`,
    to: 'To',
    save: 'Save',
    nameMissing: 'Enter a name.',
    targetMissing: 'Choose another folder.',
    deleteTitle: (name: string) => `Delete the folder “${name}”?`,
    deleteEmpty: 'It is empty.',
    deleteFull: (held: { readonly files: number; readonly folders: number }) =>
      `It contains ${[held.files > 0 ? files(held.files) : '', held.folders > 0 ? folders(held.folders) : ''].filter(Boolean).join(' and ')}. Move them first: only empty folders can be deleted.`,
  },
  bulk: {
    move: 'Move',
    delete: 'Delete',
    moveTitle: (count: number) => `Move ${files(count)}`,
    moveAction: 'Move here',
    deleteTitle: (count: number) => `Delete ${files(count)}?`,
    looking: 'Checking where they are used …',
    deleteUnknown:
      'It could not be determined where they are used. They are removed from all entries that use them. This cannot be undone.',
    deleteUnused: 'No entry that you can read uses them. This cannot be undone.',
    deleteUsed: (used: number, all: number) =>
      all === 1
        ? 'It is in use, and will be removed from the entries that use it. This cannot be undone.'
        : `${used.toLocaleString('en')} of ${files(all)} ${used === 1 ? 'is' : 'are'} in use, and will be removed from the entries that use them. This cannot be undone.`,
    usedBy: (file: string, entries: readonly string[], total: number) =>
      `${file}: ${entries.join(', ')}${total > entries.length ? ` and in ${places(total - entries.length)} more` : ''}`,
    usedMore: (count: number) => `and ${count.toLocaleString('en')} more`,
    deleteAction: (count: number) => `Delete ${files(count)}`,
    progress: (done: number, all: number) => `${done} of ${all}`,
    stop: 'Stop',
  },
  moving: {
    progress: (done: number, all: number) => `${done.toLocaleString('en')} of ${all.toLocaleString('en')} moved`,
    folder: (name: string) => `The folder “${name}”`,
    moved: (what: string, to: string) => `${what} moved to “${to}”.`,
    undone: (what: string) => `${what} moved back.`,
    undo: 'Undo',
    partly: (done: number, all: number) =>
      all === 1
        ? 'Not moved.'
        : `${done.toLocaleString('en')} of ${all.toLocaleString('en')} moved; the others are where they were.`,
  },
  leaving: {
    title: 'Leave without saving?',
    text: 'Your changes to this file have not been saved.',
    stay: 'Stay',
    discard: 'Discard and leave',
    save: 'Save and leave',
  },
  file: {
    back: 'Back to the library',
    preview: 'Preview',
    noPreview: 'No preview is available for this type of file.',
    broken: 'This file cannot be displayed. It may be damaged or missing. Replace it, or download it to check.',
    details: 'Details',
    name: 'Name',
    alternativeText: 'Alternative text',
    alternativeHint: 'Describes the image to people who cannot see it.',
    caption: 'Caption',
    folder: 'Folder',
    save: 'Save',
    saved: 'Saved',
    discard: 'Discard',
    kind: 'Type',
    mime: 'Media type',
    size: 'Size',
    dimensions: 'Dimensions',
    added: 'Added',
    changed: 'Updated',
    provider: 'Storage provider',
    id: 'ID',
    formats: 'Formats',
    formatsNone: 'No smaller formats',
    format: 'Format',
    original: 'original',
    copy: 'Copy URL',
    copied: 'Copied',
    address: 'URL',
    copyOf: (name: string) => `Copy URL of ${name}`,
    open: 'Open',
    openOf: (name: string) => `Open ${name} in a new tab`,
    download: 'Download',
    replace: 'Replace',
    replaceTitle: (name: string) => `Replace “${name}”?`,
    replaceText: (name: string, size: string) =>
      `“${name}” (${size}) replaces it under the same URL. The old file is deleted.`,
    replaceKind: (ext: string) =>
      `The new file has a different type, but the URL still ends in “${ext}”. Check the places where it is used.`,
    replaceUsed: (count: number) => `It is used in ${places(count)}, which will show the new file immediately.`,
    replaceAction: 'Replace',
    replacing: (percent: number) => `Uploading, ${percent}%`,
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete “${name}”?`,
    deleteUsed: (count: number) => `It is used in ${places(count)} and will be removed there. This cannot be undone.`,
    deleteUnknown: 'It will be removed from all entries that use it. This cannot be undone.',
    deleteForEver: 'This cannot be undone.',
    deleteAction: 'Delete',
    uses: 'Where it is used',
    usesNone: 'No entry that you can read uses it.',
    usesMore: (shown: number, total: number) => `${shown.toLocaleString('en')} of ${total.toLocaleString('en')} shown.`,
    use: (type: string, attribute: string) => `${type}, ${attribute}`,
    gone: 'This file no longer exists.',
    changedElsewhere:
      'Someone else has changed this file since you opened it. Your changes are still here: save again to replace theirs.',
    meanwhile: (text: string) => (text === '' ? 'Cleared by someone else.' : `Changed by someone else to “${text}”.`),
  },
  picker: {
    title: (multiple: boolean) => (multiple ? 'Choose files' : 'Choose a file'),
    choose: (count: number) => (count === 0 ? 'Choose' : `Choose ${files(count)}`),
    cancel: 'Cancel',
    chosen: 'already chosen',
  },
  may: {
    signIn: 'Sign in to see the media library: files, folders, formats and where each file is used.',
    notCreate: 'You do not have permission to upload files.',
    notCreateFolders: 'You do not have permission to create folders.',
    notUpdate: 'You do not have permission to edit files.',
    notDelete: 'You do not have permission to delete files.',
    notRead: 'You do not have permission to view the media library.',
  },
} as const;
