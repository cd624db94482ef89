/**
 * Entries as they were rendered, with everything that they show: a page of entries that other pages, filters or sorts have
 * shown before needs only its ids. They are kept as long as no commit has touched a table that they are read from.
 */
import { LRUCache } from 'lru-cache';
import { limits } from '../limits.js';
import type { Changes, Moment } from '../sql/changes.js';
import { DIGEST_LENGTH } from './etag.js';
import type { BodyEntries } from './execute.js';

export interface KeptEntries {
  /**
   * The entries of one selection.
   * @param key equal for selections that show the same of an entry, and for no others.
   * @param tables all tables that decide what is shown of them; null for any.
   */
  group(key: string, tables: readonly string[] | null): EntryGroup;
  /** To be asked for before ids are read: entries that are kept later may be newer than these, and are not found for them. */
  now(): Turn;
  readonly counts: Readonly<EntryCounts>;
}

/** What `KeptEntries.now` returns. */
export type Turn = number;

export interface EntryCounts {
  /** Entries that were found, and those that had to be read. */
  found: number;
  missed: number;
}

export interface EntryGroup {
  /** Whether most entries of the last pages were kept, so that reading ids first is expected to pay. */
  isWorthwhile(): boolean;
  /**
   * The entries of a page, as they were kept; undefined for those that are missing. To be called once `changes` knows of every
   * commit that the page may show: then the entries are those of the state that its ids are from.
   * @param turn as of before `changes` was brought up to date for the page.
   */
  find(ids: readonly number[], turn: Turn): readonly (RenderedEntry | undefined)[];
  /** Keeps the entries of a page that was read whole. */
  keepPage(entries: RenderedEntries): void;
  /** Keeps entries that were missing. */
  keepMissing(entries: RenderedEntries): void;
}

export interface RenderedEntry {
  readonly bytes: EntryBytes;
  readonly digest: string;
}

export interface RenderedEntries extends BodyEntries {
  readonly ids: readonly number[];
  readonly body: Buffer;
  /** When they were read, or before that. */
  readonly since: Moment;
}

/**
 * Bytes as a text with a character for each: made and kept at a fraction of the cost of a buffer, and without keeping alive
 * the one that they come from.
 */
export type EntryBytes = string;

/** The entries by their ids. */
export const entriesIn = ({ ids, body, at, sizes, digests }: RenderedEntries): ReadonlyMap<number, RenderedEntry> => {
  const entries = new Map<number, RenderedEntry>();
  let begin = at;
  ids.forEach((id, i) => {
    entries.set(id, entryAt(body, begin, sizes[i]!, digests, i));
    begin += sizes[i]! + 1;
  });
  return entries;
};

const entryAt = (body: Buffer, begin: number, size: number, digests: string, i: number): RenderedEntry => ({
  bytes: body.toString('latin1', begin, begin + size),
  digest: digests.slice(DIGEST_LENGTH * i, DIGEST_LENGTH * (i + 1)),
});

interface KeptEntry extends RenderedEntry {
  readonly id: number;
  readonly turn: Turn;
}

/** Approximate overhead of an entry in memory, in bytes. */
const ENTRY_BYTES = 320;

/** Entries that were shown once, of which few are remembered, by numbers that may be equal for several. */
const newSightings = () => {
  const seen = new Uint32Array(limits.entriesSightedMax);
  /** Whether the entry was shown before, as far as is known. */
  return (group: number, id: number): boolean => {
    const hash = Math.imul(id ^ Math.imul(group, 0x9e37_79b1), 0x85eb_ca6b) >>> 0;
    const place = hash % seen.length;
    const isKnown = seen[place] === hash;
    seen[place] = hash;
    return isKnown;
  };
};

/** @param bytesMax memory for the entries. */
export const newKeptEntries = (changes: Changes, bytesMax: number): KeptEntries => {
  const counts: EntryCounts = { found: 0, missed: 0 };
  let turn: Turn = 0;
  let groupsMade = 0;
  const isSighted = newSightings();
  const entryBytesMax = bytesMax * limits.keptEntryShare;
  const entries = new LRUCache<KeptEntry, Map<number, KeptEntry>>({
    maxSize: bytesMax,
    sizeCalculation: (_group, entry) => sizeOf(entry.bytes.length),
    dispose: (group, { id }) => {
      group.delete(id);
    },
  });

  const newGroup = (tables: readonly string[] | null): EntryGroup & { leave(): void } => {
    groupsMade += 1;
    const number = groupsMade;
    const byId = new Map<number, KeptEntry>();
    let since = changes.moment();
    /** Of the last pages, the later ones counting more. At first it is assumed that entries are shown again. */
    let shareFound = 1;

    /** Nobody finds what a request that is still in flight would keep in it. */
    let isGone = false;

    const clear = (): void => {
      for (const entry of byId.values()) entries.delete(entry);
    };
    /** Drops what a known commit may have changed. */
    const refresh = (): void => {
      if (!changes.isUnchanged(tables, since)) clear();
      since = changes.moment();
    };
    const note = (found: number, of: number): void => {
      if (of > 0) shareFound = (shareFound + found / of) / 2;
    };

    /** Returns how many of them were kept already. */
    const keep = ({ ids, body, at, sizes, digests, since: readSince }: RenderedEntries): number => {
      refresh();
      if (isGone || !changes.isUnchanged(tables, readSince)) return 0;
      let known = 0;
      turn += 1;
      for (let i = 0, begin = at; i < ids.length; begin += sizes[i]! + 1, i++) {
        const id = ids[i]!;
        const size = sizeOf(sizes[i]!);
        if (byId.has(id)) known += 1;
        // once there is no room, only what was shown before displaces others
        else if (size <= entryBytesMax && (entries.calculatedSize + size <= bytesMax || isSighted(number, id))) {
          const entry = { id, turn, ...entryAt(body, begin, sizes[i]!, digests, i) };
          byId.set(id, entry);
          entries.set(entry, byId);
        }
      }
      return known;
    };

    return {
      leave: () => {
        isGone = true;
        clear();
      },
      isWorthwhile: () => byId.size > 0 && shareFound >= 0.5,
      find: (ids, before) => {
        refresh();
        let found = 0;
        const texts = ids.map((id) => {
          const entry = byId.get(id);
          if (!entry || entry.turn >= before) return undefined;
          found += 1;
          entries.get(entry);
          return entry;
        });
        note(found, ids.length);
        counts.found += found;
        counts.missed += ids.length - found;
        return texts;
      },
      keepPage: (page) => note(keep(page), page.ids.length),
      keepMissing: (missing) => {
        keep(missing);
      },
    };
  };

  const groups = new LRUCache<string, ReturnType<typeof newGroup>>({
    max: limits.entryGroupsMax,
    dispose: (group) => group.leave(),
  });

  return {
    group: (key, tables) => {
      const known = groups.get(key);
      if (known) return known;
      const made = newGroup(tables);
      groups.set(key, made);
      return made;
    },
    now: () => {
      turn += 1;
      return turn;
    },
    counts,
  };
};

const sizeOf = (bytes: number): number => bytes + ENTRY_BYTES;
