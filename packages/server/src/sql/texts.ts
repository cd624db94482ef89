/** What the text of a statement says about tables: which ones it writes to, and which ones it may read. */
import { LRUCache } from 'lru-cache';
import { limits } from '../limits.js';
import type { WriteKind, Writes } from './changes.js';

const nothing: Writes = new Map();

/** Computed once for each text. */
const known = new LRUCache<string, { readonly writes: Writes }>({
  max: limits.statementsMax,
  maxSize: limits.preparedCharactersMax,
  sizeCalculation: (_writes, text) => text.length + 1,
});

/** The tables that a statement writes to; null, so any, if the text is not understood. */
export const writesOf = (text: string): Writes => {
  // most statements of a write transaction
  if (text.startsWith('select ')) return nothing;
  const found = known.get(text);
  if (found) return found.writes;
  const writes = readWrites(tokensOf(text));
  known.set(text, { writes });
  return writes;
};

/**
 * The names that statements may read from, and a few others (aliases): more names than there are tables never make
 * anything stale. Null, so any, if a text is not understood.
 */
export const tablesIn = (texts: readonly string[]): readonly string[] | null => {
  const names = new Set<string>();
  return texts.every((text) => !isObscure(text) && addSources(text, names)) ? [...names] : null;
};

/** Quoted names, texts, and plain names where tables stand. */
const sources = /"((?:[^"]|"")*)"|'(?:[^']|'')*'|\b(?:from|join)\s+(?:[A-Za-z_][\w$]*\.)*([A-Za-z_][\w$]*)/gi;

/** Adds the names that are not columns: those follow another name and a dot. False if the text is not understood. */
const addSources = (text: string, names: Set<string>): boolean => {
  let isOfSchema = false;
  for (const found of text.matchAll(sources)) {
    const [whole, quoted, plain] = found;
    const before = text[found.index - 1];
    const isQualifier = text[found.index + whole.length] === '.';
    if (quoted === undefined && plain === undefined) {
      if (before === 'e' || before === 'E') return false;
    } else if (plain !== undefined || before !== '.' || isOfSchema)
      names.add(nameOf(plain ?? quoted!.replaceAll('""', '"')));
    // the table follows
    isOfSchema =
      isQualifier && (plain !== undefined || /\b(?:from|join)\s+$/i.test(text.slice(found.index - 6, found.index)));
  }
  return true;
};

interface Token {
  /** In lower case; of a quoted name or text only its first character. */
  readonly text: string;
  /** A name as `nameOf` returns it; null for all else. */
  readonly name: string | null;
  readonly isQuoted: boolean;
}

const tokens = /"((?:[^"]|"")*)"|'(?:[^']|'')*'|([A-Za-z_][\w$]*)|[^\s]/g;

/** Whether it may have comments or dollar quotes, which no statement of ours has. */
const isObscure = (text: string): boolean =>
  text.includes('--') || text.includes('/*') || (text.includes('$') && /\$[A-Za-z_]*\$/.test(text));

const tokensOf = (text: string): readonly Token[] | null => {
  if (isObscure(text) || /\b[eE]'/.test(text)) return null;
  return [...text.matchAll(tokens)].map(([whole, quoted, word]) => {
    if (quoted !== undefined) return { text: '"', name: nameOf(quoted.replaceAll('""', '"')), isQuoted: true };
    if (word !== undefined) return { text: word.toLowerCase(), name: nameOf(word), isQuoted: false };
    return { text: whole[0]!, name: null, isQuoted: false };
  });
};

/** A table's name for comparison: SQLite ignores case, and PostgreSQL truncates names to 63 bytes. */
export const nameOf = (name: string): string => {
  const lower = name.toLowerCase();
  return Buffer.byteLength(lower) <= 63
    ? lower
    : Buffer.from(lower)
        .subarray(0, 63)
        .toString()
        .replace(/\uFFFD$/, '');
};

const readWrites = (list: readonly Token[] | null): Writes => {
  const [first] = list ?? [];
  if (!list || !first || list.some((it, i) => it.text === ';' && i < list.length - 1)) return null;
  switch (first.text) {
    case 'savepoint':
    case 'release':
    case 'rollback':
      return nothing;
    case 'insert':
    case 'update':
    case 'delete':
    case 'with':
      break;
    default:
      return null;
  }
  const writes = new Map<string, WriteKind>();
  for (let i = 0; i < list.length; i++) {
    const { text, isQuoted } = list[i]!;
    if (isQuoted) continue;
    switch (text) {
      case 'insert':
      case 'delete': {
        const expected = text === 'insert' ? 'into' : 'from';
        const name = list[i + 1]?.text === expected ? nameAt(list, i + 2) : null;
        if (name === null) return null;
        if (text === 'delete' || !writes.has(name)) writes.set(name, text === 'delete' ? 'delete' : 'update');
        break;
      }
      case 'update': {
        // `for update`, `for no key update`, `do update`
        if (['for', 'key', 'do'].includes(list[i - 1]?.text ?? '')) break;
        const name = nameAt(list, i + 1);
        if (name === null) return null;
        if (!writes.has(name)) writes.set(name, 'update');
        break;
      }
      case 'merge':
      case 'replace':
      case 'truncate':
        return null;
      default:
    }
  }
  return writes;
};

/** The name of a table, without its schema. */
const nameAt = (list: readonly Token[], i: number): string | null => {
  const at = list[i]?.text === 'only' ? i + 1 : i;
  // `update or ignore`
  if (list[at]?.text === 'or') return null;
  return (list[at + 1]?.text === '.' ? list[at + 2]?.name : list[at]?.name) ?? null;
};
