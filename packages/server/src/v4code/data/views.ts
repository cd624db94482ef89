/** The model as project code sees it: nothing is hidden from code, and `db.query` validates nothing. */
import { type ScalarTypeName, scalarTypes } from '../../model/attributes.js';
import { type Attribute, type EntryType, type Model, rulesOf } from '../../model/model.js';
import type { Gate } from '../../query/selection.js';
import type { ColumnKind } from '../../sql/dialect.js';

/** Project code may see and change everything; its own sanitizers decide what responses show. */
export const codeGate: Gate = { version: 'code', allows: () => true, reaches: () => true };

export interface ModelViews {
  /** Private attributes and passwords are shown. */
  readonly open: Model;
  /** The same, without any rule for values but their types. */
  readonly bare: Model;
}

export const newViews = (model: Model): ModelViews => {
  const open = mapTypes(model, (type) => mapAttributes(type, opened));
  return { open, bare: mapTypes(open, (type) => mapAttributes(type, withoutRules)) };
};

/**
 * Requests cannot write what says `writable: false`; code can. `_q` does not search what is hidden (FL14): it may be a client's, which
 * core actions pass on.
 */
const opened = (attribute: Attribute): Attribute => {
  if (attribute.kind !== 'scalar') return { ...attribute, hidden: false, writable: true };
  const { hidden, searchable, rules } = attribute;
  return {
    ...attribute,
    hidden: false,
    searchable: searchable && !hidden,
    rules: { ...rules, writable: !rules.frozen },
  };
};

const mapTypes = (model: Model, change: (type: EntryType) => EntryType): Model => ({
  ...model,
  types: new Map([...model.types].map(([uid, type]) => [uid, change(type)])),
});

const mapAttributes = (type: EntryType, change: (attribute: Attribute) => Attribute): EntryType => ({
  ...type,
  attributes: new Map([...type.attributes].map(([name, it]) => [name, change(it)])),
});

const withoutRules = (attribute: Attribute): Attribute => {
  switch (attribute.kind) {
    case 'scalar': {
      const { writable, frozen, defaultValue, targetField } = attribute.rules;
      const type = bareTypes[scalarTypes[attribute.type].column] ?? attribute.type;
      return { ...attribute, type, rules: rulesOf({ writable, frozen, defaultValue, targetField }) };
    }
    case 'part':
      return { ...attribute, required: false, min: null, max: null };
    default:
      return { ...attribute, required: false };
  }
};

/** The type of a column that checks nothing: as a text, a password is stored as it is given, and an enumeration has no members. */
const bareTypes: Partial<Record<ColumnKind, ScalarTypeName>> = { string: 'string', json: 'json' };
