/** What a new locale has of the entry in others, as hooks of v4 projects see it, and what they have made of it. */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import chunk from 'lodash/chunk.js';
import { issue, refuse } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  type LinkAttribute,
  type PartAttribute,
  rulesOf,
  type ScalarAttribute,
} from '../model/model.js';
import { type Rows, withIds } from '../sql/dialect.js';
import { pipeline } from '../sql/pipeline.js';
import { seenByHooks } from './ahead.js';
import { AheadPart } from './change.js';
import type { CheckContext } from './checks.js';
import { copyUnplaced } from './copy.js';
import { idOf, isObject } from './ids.js';
import { type OwnerKey, ownerKey } from './keys.js';
import { linksStatement } from './lists.js';
import { readSiblings } from './locales.js';
import { noParts, type PlacedPart, readParts } from './parts.js';
import { ownMember } from './places.js';
import type { Data } from './request.js';
import { runOperations } from './run.js';
import { checkContext, type Write } from './writing.js';

type Open = Record<string, unknown>;

export interface Inherited {
  /** Values as responses show them, ids of files, and components as hooks see those of any new entry. */
  readonly shown: Data;
  /**
   * Whether a value that hooks have left says the same as what they have seen, in whatever form: then the other locales are not written.
   * Throws a `Refusal` for other siblings.
   */
  isLeft(name: string, value: unknown): boolean;
  /** Components of the source that the data names beside others become new ones with the same contents. */
  copyNamed(data: Open): Promise<void>;
}

/** @param names of the attributes that the new entry has from the source. */
export const readInherited = async (write: Write, source: number, names: ReadonlySet<string>): Promise<Inherited> => {
  const { context, session, dialect } = write;
  const { type } = write.request;
  const checking = checkContext(write);
  const attributes = new Map([...type.attributes].filter(([name]) => names.has(name)));
  const scalars = [...attributes.values()].filter((it) => it.kind === 'scalar');
  const links = [...attributes.values()].filter((it) => it.kind === 'link');
  const parts = [...attributes.values()].filter((it) => it.kind === 'part');
  const [values, linked, stored, siblings] = await pipeline(
    () => readValues(type, source, scalars, checking),
    () => session.tx.runAll(links.map((it) => linksStatement(it.path, 'from', [source], dialect))),
    async () => (parts.length > 0 ? readParts(type, [source], context.model, session.tx, dialect) : noParts),
    () => readSiblings(type, source, checking, 'plain'),
  );
  const own = ownerKey(type.uid, source);
  const placed = stored.get(own) ?? [];
  const group = [source, ...siblings.map((it) => it.id)];
  const shown: Data = {
    ...values,
    ...Object.fromEntries(links.map((it, i) => [it.name, shownLinks(it, linked[i]!)])),
    ...Object.fromEntries(parts.flatMap((it) => shownParts(it, placed))),
    localizations: group,
  };

  return {
    shown,
    isLeft: (name, value) => {
      if (name === 'localizations') {
        const ids = idsIn(value);
        return ids.length === 0 || isDeepStrictEqual(new Set(ids), new Set(group)) || refuse(otherSiblings);
      }
      const attribute = attributes.get(name);
      return attribute !== undefined && isSame(attribute, value, shown[name] ?? null);
    },
    copyNamed: async (data) => {
      const places = [...type.attributes.values()].filter((it) => it.kind === 'part');
      const named = new Set(places.flatMap((it) => keysIn(it, ownMember(data, it.name))));
      const roots = placed.filter((it) => attributes.has(it.attribute) && named.has(ownerKey(it.uid, it.id)));
      if (roots.length === 0) return;
      const copying = { type, from: source, attributes: parts, parts: new Map([...stored, [own, roots]]) };
      const { operations, ids } = await copyUnplaced(copying, checking);
      await runOperations(operations, dialect, session.tx);
      // what is named twice has one copy: the second is refused, as that of any entry
      const copies = new Map(ids);
      for (const attribute of places) {
        const copied = (item: unknown): unknown => {
          const key = keyOf(attribute, item);
          const copy = key === null ? undefined : copies.get(key);
          if (key === null || copy === undefined) return item;
          copies.delete(key);
          const { uid, id } = copy;
          return new AheadPart({ uid, id, given: { id, __component: uid }, was: 'loose' });
        };
        const value = ownMember(data, attribute.name);
        if (value !== undefined) data[attribute.name] = Array.isArray(value) ? value.map(copied) : copied(value);
      }
    },
  };
};

const otherSiblings = issue('body.localizations', ['localizations']);

/** As responses show them. */
const readValues = async (
  { table }: EntryType,
  id: number,
  attributes: readonly ScalarAttribute[],
  { dialect, tx }: CheckContext,
): Promise<Data> => {
  if (attributes.length === 0) return {};
  const fields = attributes.map(({ name, type, column }) => ({
    name,
    form: scalarTypes[type].form,
    column: sql`${sql.ref(`e.${column}`)}`,
  }));
  const objects = chunk(fields, dialect.jsonPairsMax).map((some) => dialect.jsonObject(some));
  const query = sql`select ${sql.join(objects)} from ${sql.table(table)} e where ${dialect.inIds(sql.ref('e.id'))}`;
  const [row = []] = await tx.run(withIds(dialect.compile(query), [id], dialect));
  return Object.assign({}, ...row.map((it) => JSON.parse(String(it)) as object)) as Data;
};

/** @param rows of `linksStatement`. */
const shownLinks = ({ shape }: LinkAttribute, rows: Rows): unknown => {
  const ids = rows.map(([_row, _from, to]) => Number(to));
  return shape === 'many' ? ids : (ids[0] ?? null);
};

/** Nothing where there is none, as in the data of any new entry. */
const shownParts = ({ name, shape }: PartAttribute, placed: readonly PlacedPart[]): readonly [string, unknown][] => {
  const shown = placed
    .filter((it) => it.attribute === name)
    .map(({ uid, id }) => seenByHooks({ uid, id }, { name, shape }));
  if (shown.length === 0) return [];
  return [[name, shape === 'one' ? shown[0] : shown]];
};

// ---- what hooks have left

const isSame = (attribute: Attribute, left: unknown, shown: unknown): boolean => {
  if (isDeepStrictEqual(left, shown)) return true;
  switch (attribute.kind) {
    case 'scalar': {
      const [is, was] = [left, shown].map((it) => storedForm(attribute, it));
      return is !== undefined && isDeepStrictEqual(is, was);
    }
    case 'link':
      return isDeepStrictEqual(idsIn(left), idsIn(shown));
    case 'part':
      return isDeepStrictEqual(keysIn(attribute, left), keysIn(attribute, shown));
    default:
      return false;
  }
};

/** What would be stored of a value, whatever the rules of its attribute; undefined for one that cannot be. */
const storedForm = ({ type }: ScalarAttribute, value: unknown): unknown => {
  if (value === null || value === undefined) return undefined;
  const { parseJson, family } = scalarTypes[type];
  const parsed = parseJson(value, { rules: anyValue, path: [], draft: true });
  if (!parsed.ok) return undefined;
  return family === 'json' ? JSON.parse(String(parsed.value)) : parsed.value;
};

const anyValue = rulesOf({});

/** Ids in any form of a relation that replaces the whole list; null for what is none. */
const idsIn = (value: unknown): readonly (number | null)[] => {
  const list = isObject(value) && 'set' in value ? value['set'] : value;
  return [list ?? []].flat().map((it: unknown) => idOf(isObject(it) ? it['id'] : it));
};

/** Of the components in a value, null for new ones. */
const keysIn = (attribute: PartAttribute, value: unknown): readonly (OwnerKey | null)[] =>
  [value ?? []].flat().map((it: unknown) => keyOf(attribute, it));

const keyOf = ({ shape, components }: PartAttribute, item: unknown): OwnerKey | null => {
  const id = idOf(isObject(item) ? item['id'] : item);
  const uid = shape === 'zone' ? isObject(item) && item['__component'] : components[0];
  return id === null || typeof uid !== 'string' ? null : ownerKey(uid, id);
};
