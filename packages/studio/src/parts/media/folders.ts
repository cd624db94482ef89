/** v4's folders of the media library. */

export interface Folder {
  readonly id: number;
  readonly name: string;
  /** Null at the top. */
  readonly parent: number | null;
  /** In itself, not in folders below. */
  readonly files: number;
}

export interface FolderNode extends Folder {
  readonly children: readonly FolderNode[];
}

/** Sorted by name. A folder whose parent is gone, or that is inside of itself, stands at the top: nothing is hidden. */
export const treeOf = (folders: readonly Folder[]): readonly FolderNode[] => {
  const known = new Map(folders.map((it) => [it.id, it]));
  const below = new Map<number | null, Folder[]>();
  for (const folder of folders) {
    const parent =
      folder.parent !== null && known.has(folder.parent) && !isInsideItself(known, folder) ? folder.parent : null;
    const siblings = below.get(parent);
    if (siblings) siblings.push(folder);
    else below.set(parent, [folder]);
  }
  const nodes = (parent: number | null): readonly FolderNode[] =>
    [...(below.get(parent) ?? [])]
      .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }) || a.id - b.id)
      .map((it) => ({ ...it, children: nodes(it.id) }));
  return nodes(null);
};

const isInsideItself = (known: ReadonlyMap<number, Folder>, folder: Folder): boolean => {
  const passed = new Set<number>();
  for (let at: Folder | undefined = folder; at; at = at.parent === null ? undefined : known.get(at.parent)) {
    if (passed.has(at.id)) return true;
    passed.add(at.id);
  }
  return false;
};

/** From the top to the folder itself; empty at the top. */
export const trailOf = (folders: readonly Folder[], id: number | null): readonly Folder[] => {
  const trail: Folder[] = [];
  let at = folders.find((it) => it.id === id);
  while (at && !trail.includes(at)) {
    trail.unshift(at);
    const { parent } = at;
    at = folders.find((it) => it.id === parent);
  }
  return trail;
};

/** A folder with all above it: `Harbours / Winter`; null where the top is. */
export const pathOf = (folders: readonly Folder[], id: number | null): string | null =>
  trailOf(folders, id)
    .map((it) => it.name)
    .join(' / ') || null;

/** Those that a listing shows beside its files: of a folder those in it, of a search all whose names match. */
export const foldersShown = (
  folders: readonly Folder[],
  { folder, q }: { readonly folder: number | null; readonly q: string },
): readonly Folder[] => {
  const text = q.trim().toLowerCase();
  const shown = folders.filter((it) => (text === '' ? it.parent === folder : it.name.toLowerCase().includes(text)));
  return shown.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }) || a.id - b.id);
};

/** The folder and all below. */
export const withBelow = (folders: readonly Folder[], id: number): ReadonlySet<number> => {
  const found = new Set([id]);
  for (let count = 0; count !== found.size; ) {
    count = found.size;
    for (const { id: own, parent } of folders) if (parent !== null && found.has(parent)) found.add(own);
  }
  return found;
};

/** Where a folder may go: not into itself, and not where it is. */
export const mayMoveTo = (folders: readonly Folder[], id: number, to: number | null): boolean =>
  folders.find((it) => it.id === id)?.parent !== to && (to === null || !withBelow(folders, id).has(to));

/** What a folder holds, with all below: only an empty one can be deleted. */
export const contentsOf = (
  folders: readonly Folder[],
  id: number,
): { readonly files: number; readonly folders: number } => {
  const inside = withBelow(folders, id);
  const files = folders.filter((it) => inside.has(it.id)).reduce((sum, it) => sum + it.files, 0);
  return { files, folders: inside.size - 1 };
};
