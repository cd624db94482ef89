/** The attributes by which v4's content manager names entries, as it stores them for each type and component (ST6). */
import { sql } from 'kysely';
import type { Uid } from '../model/model.js';
import type { Dialect, ReadProgram } from '../sql/dialect.js';

const PREFIX = 'plugin_content_manager_configuration_';

export function* readMainFields(dialect: Dialect): ReadProgram<ReadonlyMap<Uid, string>> {
  const key = sql.ref('key');
  const [rows = []] = yield [
    dialect.compile(
      sql`select ${sql.ref('value')} from strapi_core_store_settings where substr(${key}, 1, ${sql.lit(PREFIX.length)}) = ${dialect.bind('string', PREFIX)} order by id desc`,
    ),
  ];
  // keys are not unique; v4 takes the first
  return new Map(rows.flatMap(([text]) => mainFieldOf(text)));
}

const mainFieldOf = (text: unknown): readonly (readonly [Uid, string])[] => {
  try {
    const { uid, settings } = JSON.parse(String(text)) as {
      readonly uid?: unknown;
      readonly settings?: { readonly mainField?: unknown };
    };
    const mainField = settings?.mainField;
    return typeof uid === 'string' && typeof mainField === 'string' ? [[uid, mainField]] : [];
  } catch {
    // not ours to mend
    return [];
  }
};
