/** Which control edits which type of attribute. A type of the server that is missing here fails a test. */
import type { Attribute } from '../../../model/model.js';

const kinds = {
  string: 'line',
  email: 'line',
  text: 'lines',
  richtext: 'markdown',
  enumeration: 'enumeration',
  password: 'password',
  uid: 'uid',
  date: 'date',
  time: 'time',
  datetime: 'instant',
  timestamp: 'instant',
  integer: 'number',
  biginteger: 'number',
  float: 'number',
  decimal: 'number',
  boolean: 'boolean',
  array: 'json',
  json: 'json',
  blocks: 'blocks',
} as const;

export type ControlKind = (typeof kinds)[keyof typeof kinds];

export const controlTypes: readonly string[] = Object.keys(kinds);

const isKnown = (type: string): type is keyof typeof kinds => Object.hasOwn(kinds, type);

/** By the type that stores it: a custom field has that of its plugin. What is not known is edited as JSON, which loses nothing. */
export const controlKindOf = ({ type }: Attribute): ControlKind => (isKnown(type) ? kinds[type] : 'json');
