/** Where a file is used: in entries, and in components of entries (UP18). */
import { sql } from 'kysely';
import type { Attribute, EntryType, LinkAttribute, LinkPath, Model, Uid } from '../model/model.js';
import { type Dialect, type ReadProgram, type Rows, type Statement, withIds } from '../sql/dialect.js';

export interface FileUse {
  /** The uid of the content type. */
  readonly type: Uid;
  readonly id: number;
  /** With the components on the way: `seo.shareImage`. */
  readonly attribute: string;
}

/** What is known of one place before the entry is found that holds it. */
interface Place {
  readonly type: EntryType;
  readonly id: number;
  readonly attribute: string;
}

/** Components are inside of components this deep at most; deeper ones only exist if rows hold each other. */
const DEPTH_MAX = 20;

/** All of them, entries of a type together. */
export function* readUses(fileId: number, model: Model, dialect: Dialect): ReadProgram<readonly FileUse[]> {
  const types = [...model.types.values()];
  const media = types.flatMap((type) =>
    attributesOf(type).flatMap((attribute) => (isMedia(attribute) ? [{ type, attribute }] : [])),
  );
  const asked = yield media.map(({ attribute }) => holders(attribute.path, fileId, dialect));
  let open: readonly Place[] = media.flatMap(({ type, attribute }, i) =>
    idsIn(asked[i]!).map((id) => ({ type, id, attribute: attribute.name })),
  );
  const uses = new Map<string, FileUse>();
  for (let depth = 0; open.length > 0 && depth < DEPTH_MAX; depth++) {
    for (const { type, id, attribute } of open)
      if (!isComponent(type)) uses.set(`${type.uid} ${id} ${attribute}`, { type: type.uid, id, attribute });
    const inside = open.filter((it) => isComponent(it.type));
    const steps = [...new Set(inside.map((it) => it.type))].flatMap((component) => {
      const places = inside.filter((it) => it.type === component);
      return types.flatMap((type) =>
        attributesOf(type).flatMap((part) =>
          part.kind === 'part' && part.components.includes(component.uid) ? [{ type, part, component, places }] : [],
        ),
      );
    });
    if (steps.length === 0) break;
    const rows = yield steps.map(({ part, component, places }) =>
      owners(part.path, component.uid, dialect, [...new Set(places.map((it) => it.id))]),
    );
    open = steps.flatMap(({ type, part, places }, i) =>
      rows[i]!.flatMap(([owner, held]) =>
        places
          .filter((it) => it.id === Number(held))
          .map((it) => ({ type, id: Number(owner), attribute: `${part.name}.${it.attribute}` })),
      ),
    );
  }
  return [...uses.values()];
}

const attributesOf = (type: EntryType) => [...type.attributes.values()];
const isComponent = ({ kind }: EntryType): boolean => kind === 'component';
const isMedia = (it: Attribute): it is LinkAttribute => it.kind === 'link' && it.source === 'media';
const idsIn = (rows: Rows): readonly number[] => rows.map(([id]) => Number(id));

/** Entries, or components, that hold the file. */
const holders = ({ table, from, to, fixed }: LinkPath, fileId: number, dialect: Dialect): Statement => {
  const others = fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
  return dialect.compile(
    sql`select distinct ${sql.ref(from)} from ${sql.table(table)} where ${sql.ref(to)} = ${dialect.bind('id', fileId)}${sql.join(others, sql``)} and ${sql.ref(from)} is not null order by ${sql.ref(from)}`,
  );
};

/** Pairs of what holds the components, and the component. */
const owners = (
  { table, from, to, fixed, typeColumn }: LinkPath,
  component: Uid,
  dialect: Dialect,
  ids: readonly number[],
): Statement => {
  const values = [...fixed, ...(typeColumn === null ? [] : [{ column: typeColumn, value: component }])];
  const others = values.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
  const statement = dialect.compile(
    sql`select distinct ${sql.ref(from)}, ${sql.ref(to)} from ${sql.table(table)} where ${dialect.inIds(sql.ref(to))}${sql.join(others, sql``)} and ${sql.ref(from)} is not null order by ${sql.ref(from)}`,
  );
  return withIds(statement, ids, dialect);
};
