/**
 * What older versions of v4, imports, races and edits by hand leave in a database. Each is counted and has an example;
 * `words.ts` says what it is, what Dovetail does with it, and what would mend it.
 */
import { sql } from 'kysely';
import { actionsOf } from '../../access/actions.js';
import { scalarTypes } from '../../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  FILE_UID,
  type LinkAttribute,
  type Model,
  type PartAttribute,
  type ScalarAttribute,
} from '../../model/model.js';
import { tablesOf } from '../../model/storage.js';
import type { Sql } from '../../sql/dialect.js';
import type { Table, TableDiff } from '../../sql/schema.js';
import type { StoredColumn, Unlocalized } from '../layout.js';
import type { ContentFacts, FoundHazard, Hazard, HazardCode } from './report.js';
import type { Tables } from './tables.js';
import { wordHazard } from './words.js';

export interface HazardScan {
  /** As the schema files say. */
  readonly model: Model;
  readonly tables: Tables;
  readonly diff: TableDiff;
  readonly otherTypes: readonly StoredColumn[];
  readonly drafts: ReadonlyMap<string, number>;
  readonly unlocalized: readonly Unlocalized[];
  readonly content: ContentFacts;
  /** Permissions of routes of the project's code. */
  readonly ownActions: readonly string[];
}

type Found = AsyncGenerator<FoundHazard, void>;

/** The heaviest first, otherwise in the order in which they are looked for. */
export const findHazards = async (scan: HazardScan): Promise<readonly Hazard[]> => {
  const found: Hazard[] = [];
  const looks: readonly ((scan: HazardScan) => Found)[] = [
    sequences,
    storedDifferently,
    values,
    links,
    parts,
    media,
    morphs,
    locales,
    missingIndexes,
    names,
    people,
    leftOvers,
  ];
  for (const look of looks) for await (const it of look(scan)) if (it.count > 0) found.push(wordHazard(it));
  const order: readonly Hazard['weight'][] = ['act', 'notice', 'harmless'];
  return found.sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
};

// ---- asking

/** Rows that meet a condition, and the least of them as text. */
const probe = async (
  tables: Tables,
  from: Sql,
  condition: Sql,
  shown: Sql,
): Promise<readonly [number, string | null]> => {
  const [[count, example] = []] = await tables.rows(
    sql`select count(*), min(${shown}) from ${from} where ${condition}`,
  );
  return [Number(count), example === null || example === undefined ? null : String(example)];
};

const text = (value: Sql): Sql => sql`cast(${value} as text)`;
const labelled = (...parts: readonly (readonly [string, Sql])[]): Sql =>
  sql.join(
    parts.map(
      ([label, value], i) => sql`${sql.lit(`${i > 0 ? ', ' : ''}${label} `)} || coalesce(${text(value)}, 'null')`,
    ),
    sql` || `,
  );

const attributesOf = function* <Kind extends 'scalar' | 'link' | 'part' | 'morph'>(
  { model, tables }: HazardScan,
  kind: Kind,
): Generator<readonly [EntryType, Extract<Attribute, { kind: Kind }>]> {
  for (const type of model.types.values()) {
    if (!tables.has(type.table, 'id')) continue;
    for (const attribute of type.attributes.values()) if (attribute.kind === kind) yield [type, attribute as never];
  }
};

const placeOf = (type: EntryType, { name }: { readonly name: string }): string => `${type.uid}.${name}`;

// ---- sequences

const sequences = async function* ({ tables, model }: HazardScan): Found {
  const { sequences: statement } = tables.db.inspection;
  if (statement === null) return;
  const needed = new Set(tablesOf(model).map((it) => tables.db.dialect.schema.storedName(it.name)));
  const rows = await tables.run(statement);
  for (const [table, sequence, last] of rows as [string, string | null, unknown][]) {
    if (!needed.has(table)) continue;
    const max = await tables.count(sql`select coalesce(max(id), 0) from ${sql.table(table)}`);
    if (sequence === null)
      yield {
        code: 'sequence.missing',
        place: `${table}.id`,
        count: 1,
        example: `greatest id ${max}`,
        mend: sequenceFor(table),
      };
    else if (max > Number(last ?? 0))
      yield {
        code: 'sequence.behind',
        place: `${table}.id`,
        count: max - Number(last ?? 0),
        example: `greatest id ${max}, next id ${Number(last ?? 0) + 1}`,
        mend: `select setval('${sequence.replaceAll("'", "''")}', (select max(id) from "${table}"))`,
      };
  }
};

const sequenceFor = (table: string): string => {
  const name = `"${`${table}_id_seq`.slice(0, 63)}"`;
  return `create sequence ${name} owned by "${table}".id; select setval('${name}', (select coalesce(max(id), 1) from "${table}")); alter table "${table}" alter column id set default nextval('${name}')`;
};

// ---- columns

const storedDifferently = async function* ({ otherTypes, drafts, diff, tables, model }: HazardScan): Found {
  const known = new Set([...model.types.values()].map((it) => it.table));
  for (const { table, column, found, wanted, statements } of otherTypes)
    if (known.has(table) || tables.has(table))
      yield {
        code: 'column.other-type',
        place: `${table}.${column}`,
        count: 1,
        example: `${found}, expected ${wanted.replace(' primary key', '')}`,
        mend: statements.join('; '),
      };
  for (const [uid, count] of drafts) yield { code: 'drafts.switched-off', place: uid, count, example: null };
  const ofDrafts = [...drafts.keys()].map((uid) => `${model.types.get(uid)?.table}.published_at`);
  for (const { table, column } of diff.surplusColumns.filter((it) => !ofDrafts.includes(`${it.table}.${it.column}`)))
    yield {
      code: 'column.left-over',
      place: `${table}.${column}`,
      count: 1,
      example: null,
    };
};

const values = async function* (scan: HazardScan): Found {
  const { tables } = scan;
  for (const [type, attribute] of attributesOf(scan, 'scalar')) {
    const declared = tables.declared(type.table, attribute.column);
    const { column: kind } = scalarTypes[attribute.type];
    if (declared === undefined) continue;
    const isAsDeclared = tables.db.dialect.schema.holds(declared, kind);
    yield* valuesOf(scan, type, attribute, isAsDeclared);
  }
};

const valuesOf = async function* (
  { tables }: HazardScan,
  type: EntryType,
  attribute: ScalarAttribute,
  isAsDeclared: boolean,
): Found {
  const { inspection } = tables.db;
  const { rules } = attribute;
  const { column: kind } = scalarTypes[attribute.type];
  const from = sql.table(type.table);
  const column = sql.ref(attribute.column);
  const place = placeOf(type, attribute);
  const shown = labelled(['id', sql.ref('id')], ['value', sql`substr(${text(column)}, 1, 60)`]);
  if (isAsDeclared) {
    const invalid = inspection.isInvalid(kind, column);
    if (invalid) {
      const [count, example] = await probe(tables, from, invalid, shown);
      yield { code: invalidCode(kind), place, count, example };
    }
    const asText = kind === 'datetime' ? inspection.isTextInstant(column) : null;
    if (asText) {
      const [count, example] = await probe(tables, from, asText, shown);
      yield { code: 'value.date-as-text', place, count, example };
    }
    const tooLong = kind === 'string' ? inspection.isLonger(column, 255) : null;
    if (tooLong) {
      const [count, example] = await probe(tables, from, tooLong, labelled(['id', sql.ref('id')]));
      yield { code: 'value.too-long', place, count, example };
    }
  }
  if (attribute.type === 'enumeration' && rules.values.length > 0) {
    const known = sql.join(rules.values.map((it) => sql.lit(it)));
    const [count, example] = await probe(
      tables,
      from,
      sql`${column} is not null and ${column} not in (${known})`,
      shown,
    );
    yield { code: 'value.enumeration', place, count, example };
  }
  if (type.origin !== 'project') return;
  if (rules.required) {
    const published =
      type.draftAndPublish && tables.has(type.table, 'published_at') ? sql` and published_at is not null` : sql``;
    const [count, example] = await probe(
      tables,
      from,
      sql`${column} is null${published}`,
      labelled(['id', sql.ref('id')]),
    );
    yield { code: 'value.required', place, count, example };
  }
  if (rules.unique && type.kind !== 'component') {
    const [[count, example] = []] = await tables.rows(
      sql`select count(*), min(v) from (select ${text(column)} as v from ${from} where ${column} is not null group by ${text(column)} having count(*) > 1) d`,
    );
    yield {
      code: 'value.not-unique',
      place,
      count: Number(count),
      example: example === null ? null : `value ${example}`,
    };
  }
};

const invalidCode = (kind: string): HazardCode => {
  if (kind === 'json' || kind === 'jsonText') return 'value.json';
  if (kind === 'boolean') return 'value.boolean';
  return kind === 'date' || kind === 'time' || kind === 'datetime' ? 'value.date' : 'value.number';
};

// ---- relations

const links = async function* (scan: HazardScan): Found {
  const { tables, model } = scan;
  const seen = new Set<string>();
  for (const [type, attribute] of attributesOf(scan, 'link')) {
    const { path, source, side } = attribute;
    if (source !== 'relation' || side !== 'owner' || seen.has(path.table)) continue;
    seen.add(path.table);
    const target = model.types.get(attribute.target);
    if (!target || path.from === 'id' || !tables.has(path.table, path.from, path.to) || !tables.has(target.table))
      continue;
    yield* linksOf(scan, type, target, attribute);
  }
};

const linksOf = async function* (
  { tables }: HazardScan,
  type: EntryType,
  target: EntryType,
  attribute: LinkAttribute,
): Found {
  const { table, from: fromName, to: toName, rank } = attribute.path;
  const [L, from, to] = [sql.table(table), sql.ref(`l.${fromName}`), sql.ref(`l.${toName}`)];
  const pair = labelled([type.singular, from], [target === type ? 'other' : target.singular, to]);
  const gone = (name: string, other: EntryType): string =>
    `"${name}" is null or "${name}" not in (select id from "${other.table}")`;
  const [orphans, orphan] = await probe(
    tables,
    sql`${L} l left join ${sql.table(type.table)} s on s.id = ${from} left join ${sql.table(target.table)} t on t.id = ${to}`,
    sql`s.id is null or t.id is null`,
    pair,
  );
  const remove = `delete from "${table}" where ${gone(fromName, type)} or ${gone(toName, target)}`;
  yield { code: 'link.orphan', place: table, count: orphans, example: orphan, mend: remove };

  const groups = (columns: Sql, having: Sql, shown: Sql) =>
    tables.rows(
      sql`select count(*), min(v) from (select ${shown} as v from ${L} l where ${from} is not null and ${to} is not null group by ${columns} having ${having}) g`,
    );
  const [[pairs, twice] = []] = await groups(sql`${from}, ${to}`, sql`count(*) > 1`, pair);
  yield {
    code: 'link.duplicate',
    place: table,
    count: Number(pairs),
    example: twice === null ? null : String(twice),
    ...(tables.has(table, 'id')
      ? {
          mend: `delete from "${table}" where id not in (select min(id) from "${table}" group by "${fromName}", "${toName}")`,
        }
      : {}),
  };
  if (attribute.shape === 'one') {
    const [[owners, several] = []] = await groups(
      from,
      sql`count(distinct ${to}) > 1`,
      labelled([type.singular, from]),
    );
    yield {
      code: 'link.to-one-many',
      place: placeOf(type, attribute),
      count: Number(owners),
      example: several === null ? null : String(several),
    };
  }
  for (const [column, owner, label] of [
    [rank, from, type.singular],
    [attribute.inverseRank, to, target.singular],
  ] as const) {
    if (column === null || !tables.has(table, column)) continue;
    const order = sql.ref(`l.${column}`);
    const [[lists, tie] = []] = await tables.rows(
      sql`select count(*), min(v) from (select ${labelled([label, owner])} as v from ${L} l where ${order} is not null group by ${owner}, ${order} having count(*) > 1) g`,
    );
    yield {
      code: 'link.order-tie',
      place: `${table}.${column}`,
      count: Number(lists),
      example: tie === null ? null : String(tie),
    };
    const [missing, first] = await probe(tables, sql`${L} l`, sql`${order} is null`, pair);
    yield { code: 'link.order-missing', place: `${table}.${column}`, count: missing, example: first };
    const [fractions, part] = await probe(tables, sql`${L} l`, sql`${order} <> round(${order})`, pair);
    yield { code: 'link.order-fraction', place: `${table}.${column}`, count: fractions, example: part };
  }
};

// ---- components and zones

const parts = async function* (scan: HazardScan): Found {
  const { model, tables } = scan;
  for (const type of model.types.values()) {
    const own = [...type.attributes.values()].filter((it): it is PartAttribute => it.kind === 'part');
    const table = `${type.table}_components`;
    if (own.length === 0 || !tables.has(table, 'entity_id', 'component_id', 'component_type', 'field')) continue;
    if (!tables.has(type.table)) continue;
    yield* partsOf(scan, type, own, table);
  }
};

const partsOf = async function* (
  { model, tables }: HazardScan,
  type: EntryType,
  own: readonly PartAttribute[],
  table: string,
): Found {
  const C = sql.table(table);
  const shown = labelled(
    [type.kind === 'component' ? type.uid : type.singular, sql.ref('c.entity_id')],
    ['field', sql.ref('c.field')],
    ['component', sql.ref('c.component_id')],
  );
  const fields = sql.join(own.map((it) => sql.lit(it.name)));
  const [removed, removedExample] = await probe(
    tables,
    sql`${C} c`,
    sql`c.field is null or c.field not in (${fields})`,
    shown,
  );
  yield { code: 'component.removed-field', place: table, count: removed, example: removedExample };
  const [orphans, orphan] = await probe(
    tables,
    sql`${C} c left join ${sql.table(type.table)} e on e.id = c.entity_id`,
    sql`e.id is null`,
    shown,
  );
  yield { code: 'component.orphan-entry', place: table, count: orphans, example: orphan };
  for (const attribute of own) {
    const place = placeOf(type, attribute);
    const isField = sql`c.field = ${sql.lit(attribute.name)}`;
    const allowed = sql.join(attribute.components.map((it) => sql.lit(it)));
    const [others, other] = await probe(
      tables,
      sql`${C} c`,
      sql`${isField} and (c.component_type is null or c.component_type not in (${allowed}))`,
      sql`${shown} || ', type ' || coalesce(c.component_type, 'null')`,
    );
    yield { code: 'component.other-type', place, count: others, example: other };
    for (const uid of attribute.components) {
      const component = model.types.get(uid);
      if (!component || !tables.has(component.table)) continue;
      const [gone, example] = await probe(
        tables,
        sql`${C} c left join ${sql.table(component.table)} t on t.id = c.component_id`,
        sql`${isField} and c.component_type = ${sql.lit(uid)} and t.id is null`,
        sql`${shown} || ', type ' || c.component_type`,
      );
      yield { code: 'component.dangling', place, count: gone, example };
    }
    if (attribute.shape !== 'one') continue;
    const [[several, example] = []] = await tables.rows(
      sql`select count(*), min(v) from (select ${labelled([type.singular, sql.ref('c.entity_id')])} as v from ${C} c where ${isField} group by c.entity_id having count(*) > 1) g`,
    );
    yield {
      code: 'component.single-many',
      place,
      count: Number(several),
      example: example === null ? null : String(example),
    };
  }
};

// ---- files

const MORPHS = 'files_related_morphs';

const media = async function* (scan: HazardScan): Found {
  const { model, tables, content } = scan;
  const { missing, providers } = content.media;
  yield { code: 'media.not-on-disk', place: 'files', count: missing.count, example: missing.example };
  for (const [provider, count] of Object.entries(providers))
    if (!/^(local|null|aws-s3|.*\/provider-upload-aws-s3)$/.test(provider))
      yield { code: 'media.other-provider', place: 'files', count, example: `provider ${provider}` };
  if (!tables.has(MORPHS, 'file_id', 'related_id', 'related_type', 'field') || !tables.has('files')) return;
  const M = sql.table(MORPHS);
  const shown = labelled(
    ['file', sql.ref('m.file_id')],
    ['of', sql.ref('m.related_type')],
    ['id', sql.ref('m.related_id')],
    ['field', sql.ref('m.field')],
  );
  const [files, file] = await probe(
    tables,
    sql`${M} m left join files f on f.id = m.file_id`,
    sql`f.id is null`,
    shown,
  );
  yield { code: 'media.dangling-file', place: MORPHS, count: files, example: file };
  const fields = [...model.types.values()].flatMap((type) =>
    [...type.attributes.values()].flatMap((it) =>
      it.kind === 'link' && it.target === FILE_UID && (it.source === 'media' || it.source === 'morph')
        ? [{ type, name: it.name }]
        : [],
    ),
  );
  const pairs = fields.map(
    ({ type, name }) => sql`(m.related_type = ${sql.lit(type.uid)} and m.field = ${sql.lit(name)})`,
  );
  const known = pairs.length === 0 ? sql`1 = 0` : sql.join(pairs, sql` or `);
  const [removed, example] = await probe(
    tables,
    sql`${M} m`,
    sql`m.related_type is null or m.field is null or not (${known})`,
    shown,
  );
  yield { code: 'media.removed-field', place: MORPHS, count: removed, example };
  for (const type of new Set(fields.map((it) => it.type))) {
    if (!tables.has(type.table)) continue;
    const [gone, one] = await probe(
      tables,
      sql`${M} m left join ${sql.table(type.table)} e on e.id = m.related_id`,
      sql`m.related_type = ${sql.lit(type.uid)} and e.id is null`,
      shown,
    );
    yield { code: 'media.dangling-entry', place: type.uid, count: gone, example: one };
  }
};

const morphs = async function* (scan: HazardScan): Found {
  const { model, tables } = scan;
  for (const [type, attribute] of attributesOf(scan, 'morph')) {
    const { table, from, to, typeColumn } = attribute.path;
    if (table === MORPHS || !tables.has(table, from, to, typeColumn)) continue;
    const [id, uid] = [sql.ref(`m.${to}`), sql.ref(`m.${typeColumn}`)];
    const shown = labelled([type.singular, sql.ref(`m.${from}`)], ['to', uid], ['id', id]);
    const targets = [...model.types.values()].filter((it) => it.kind !== 'component' && tables.has(it.table));
    const found = targets.map(
      (it) => sql`(${uid} = ${sql.lit(it.uid)} and exists (select 1 from ${sql.table(it.table)} t where t.id = ${id}))`,
    );
    const [count, example] = await probe(
      tables,
      sql`${sql.table(table)} m`,
      sql`${id} is not null and not (${sql.join(found, sql` or `)})`,
      shown,
    );
    yield { code: 'morph.dangling', place: placeOf(type, attribute), count, example };
  }
};

// ---- locales

const locales = async function* ({ model, tables, unlocalized, content }: HazardScan): Found {
  for (const { uid, count, statement } of unlocalized)
    yield { code: 'locale.none', place: uid, count, example: null, mend: statement };
  const codes = content.locales?.codes ?? [];
  for (const type of model.types.values()) {
    if (!type.localized || !tables.has(type.table, 'locale')) continue;
    const known = codes.length === 0 ? sql`null` : sql.join(codes.map((it) => sql.lit(it)));
    const [count, example] = await probe(
      tables,
      sql.table(type.table),
      sql`locale is not null and ${codes.length === 0 ? sql`1 = 1` : sql`locale not in (${known})`}`,
      labelled(['id', sql.ref('id')], ['locale', sql.ref('locale')]),
    );
    yield { code: 'locale.unknown', place: type.uid, count, example };
    const siblings = type.attributes.get('localizations');
    if (siblings?.kind !== 'link' || !tables.has(siblings.path.table, siblings.path.from, siblings.path.to)) continue;
    const { table, from, to } = siblings.path;
    const [oneSided, pair] = await probe(
      tables,
      sql`${sql.table(table)} l left join ${sql.table(table)} b on ${sql.ref(`b.${from}`)} = ${sql.ref(`l.${to}`)} and ${sql.ref(`b.${to}`)} = ${sql.ref(`l.${from}`)}`,
      sql`${sql.ref(`b.${from}`)} is null`,
      labelled([type.singular, sql.ref(`l.${from}`)], ['to', sql.ref(`l.${to}`)]),
    );
    yield { code: 'locale.one-sided', place: type.uid, count: oneSided, example: pair };
  }
};

// ---- indexes and names

/** Rows from which reading all of them for one lookup is worth a word. */
const BIG = 1000;

const missingIndexes = async function* ({ model, tables }: HazardScan): Found {
  const found = await tables.run(tables.db.inspection.indexedColumns);
  const indexed = new Set(found.map(([table, column]) => `${table}.${column}`));
  const { storedName } = tables.db.dialect.schema;
  for (const table of tablesOf(model)) {
    // link tables, and those of components and files
    const columns = lookedUp(table);
    for (const column of columns) {
      if (!tables.has(table.name, column) || indexed.has(`${storedName(table.name)}.${storedName(column)}`)) continue;
      const rows = (await tables.size(table.name)) ?? 0;
      if (rows < BIG) continue;
      const ms = await lookupMs(tables, table.name, column);
      const name =
        table.indexes.find((it) => !it.own && it.columns[0] === column)?.name ?? `${table.name}_${column}_index`;
      yield {
        code: 'index.missing',
        place: `${table.name}.${column}`,
        count: rows,
        example: null,
        ms,
        mend: `create index "${name}" on "${table.name}" ("${column}")`,
      };
    }
  }
};

/** The columns of v4's indexes by which rows of a table are found. */
const lookedUp = ({ name, indexes }: Table): readonly string[] =>
  /_(links|components|morphs)$/.test(name)
    ? [...new Set(indexes.filter((it) => !it.own).map((it) => it.columns[0]!))].filter(
        // the start adds an index of ours for each ordered side
        (column) => /_id$/.test(column) && !indexes.some((it) => it.own && it.columns[0] === column),
      )
    : [];

/** The median of five lookups of a row in the middle. */
const lookupMs = async (tables: Tables, table: string, column: string): Promise<number> => {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const began = performance.now();
    await tables.rows(sql`select count(*) from ${sql.table(table)} where ${sql.ref(column)} = ${sql.lit(i + 1)}`);
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[2] ?? 0;
};

const names = async function* ({ model, tables }: HazardScan): Found {
  const { storedName } = tables.db.dialect.schema;
  for (const table of tablesOf(model)) {
    const all = [
      table.name,
      ...table.columns.map((it) => it.name),
      ...table.indexes.filter((it) => !it.own).map((it) => it.name),
    ];
    const cut = all.filter((it) => storedName(it) !== it);
    if (cut.length === 0 || !tables.has(table.name)) continue;
    yield { code: 'name.shortened', place: table.name, count: cut.length, example: cut[0] ?? null };
  }
};

// ---- users

const people = async function* ({ model, tables, ownActions }: HazardScan): Found {
  if (tables.has('up_users', 'id', 'email')) {
    if (tables.has('up_users_role_links', 'user_id')) {
      const [count, example] = await probe(
        tables,
        sql`up_users u left join up_users_role_links l on l.user_id = u.id`,
        sql`l.user_id is null`,
        labelled(['user', sql.ref('u.id')]),
      );
      yield { code: 'user.no-role', place: 'up_users', count, example };
    }
    const [[same, id] = []] = await tables.rows(
      sql`select count(*), min(i) from (select min(id) as i from up_users where email is not null group by lower(email) having count(*) > 1) g`,
    );
    yield {
      code: 'user.same-email',
      place: 'up_users.email',
      count: Number(same),
      example: id === null ? null : `user ${id}`,
    };
    if (tables.has('up_users', 'password')) {
      const [count, example] = await probe(
        tables,
        sql`up_users u`,
        sql`u.password is not null and u.password not like '$2%'`,
        labelled(['user', sql.ref('u.id')]),
      );
      yield { code: 'user.hash', place: 'up_users.password', count, example };
    }
  }
  if (tables.has('up_permissions', 'action')) {
    const known = sql.join([...actionsOf(model), ...ownActions].map((it) => sql.lit(it)));
    const [count, example] = await probe(
      tables,
      sql`up_permissions`,
      sql`${sql.ref('action')} is not null and ${sql.ref('action')} not in (${known})`,
      sql`${sql.ref('action')}`,
    );
    yield { code: 'permission.unknown', place: 'up_permissions', count, example };
  }
};

// ---- what is in no schema file

const leftOvers = async function* ({ diff, tables }: HazardScan): Found {
  for (const table of diff.surplusTables) {
    const rows = (await tables.size(table)) ?? 0;
    yield { code: 'table.left-over', place: table, count: 1, example: `${rows} ${rows === 1 ? 'row' : 'rows'}` };
  }
  const triggers = await tables.run(tables.db.inspection.triggers);
  for (const [table] of triggers as [string][]) yield { code: 'trigger', place: table, count: 1, example: null };
};
