/** `strapi.store`: settings in v4's table, as JSON with the name of their type. */
import { sql } from 'kysely';
import { type Db, readRows } from '../../sql/dialect.js';
import { alone, inTurn } from './scope.js';
import { usualSetting } from './user-settings.js';

interface StoreName {
  readonly type?: string;
  readonly name?: string;
  readonly key?: string;
}

export interface Store {
  get(given?: StoreName): Promise<unknown>;
  set(given: StoreName & { readonly value: unknown }): Promise<void>;
  delete(given?: StoreName): Promise<void>;
}

/** @param base what the names of single calls are completed with. */
export const newStore = (db: Db, base: StoreName = {}): Store => {
  const { dialect } = db;
  const keyOf = (given: StoreName = {}): string => {
    const { type = 'core', name, key } = { ...base, ...given };
    return [type, name, key].filter((it) => it !== undefined && it !== '').join('_');
  };
  const text = (value: string) => dialect.bind('string', value);
  const [column, content] = [sql.ref('key'), sql.ref('value')];
  const find = (key: string) =>
    dialect.compile(
      sql`select id, ${content}, type from strapi_core_store_settings where ${column} = ${text(key)} order by id limit 1`,
    );
  const read = (key: string): Promise<readonly unknown[] | undefined> =>
    inTurn(async (session) => {
      const rows = session ? await session.tx.run(find(key)) : await db.read(() => readRows(find(key)));
      return rows[0];
    });
  const write: Db['write'] = (work) =>
    inTurn((session) =>
      session
        ? work(session.tx)
        : alone((begun) =>
            db.write((tx) => {
              begun();
              return work(tx);
            }),
          ),
    );
  return {
    get: async (given) => {
      const key = keyOf(given);
      const row = await read(key);
      return row ? storedValue(String(row[1]), row[2]) : usualSetting(key);
    },
    set: ({ value, ...given }) =>
      write(async (tx) => {
        const key = keyOf(given);
        const [row] = await tx.run(find(key));
        const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
        const stored = JSON.stringify(value) ?? String(value);
        await tx.run(
          dialect.compile(
            row
              ? sql`update strapi_core_store_settings set ${content} = ${text(stored)}, type = ${text(type)} where id = ${dialect.bind('id', row[0] as number)}`
              : sql`insert into strapi_core_store_settings (${column}, ${content}, type) values (${text(key)}, ${text(stored)}, ${text(type)})`,
          ),
        );
      }),
    delete: (given) =>
      write(async (tx) => {
        await tx.run(
          dialect.compile(sql`delete from strapi_core_store_settings where ${column} = ${text(keyOf(given))}`),
        );
      }),
  };
};

const storedValue = (stored: string, type: unknown): unknown => {
  switch (type) {
    case 'object':
    case 'array':
      return JSON.parse(stored);
    case 'boolean':
      return stored === 'true';
    case 'number':
      return Number(stored);
    case 'null':
      return null;
    default:
      return textOf(stored);
  }
};

/** Texts are stored as JSON; another program may have written one as it is. */
const textOf = (stored: string): unknown => {
  try {
    return JSON.parse(stored);
  } catch {
    return stored;
  }
};
