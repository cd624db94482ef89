/** What a body may and must have, as TypeScript and OpenAPI describe it. Writes decide it in `write/change.ts`. */
import { type Attribute, type EntryType, isWritable } from '../model/model.js';

/** A new entry must have a value for it (BO6, BO7). */
export const isNeeded = (attribute: Attribute): boolean => {
  if (attribute.kind !== 'scalar') return attribute.required;
  const { required, defaultValue } = attribute.rules;
  return required && defaultValue === undefined;
};

/** The server sets it itself (BO4). */
export const isOfServer = ({ localized }: EntryType, attribute: Attribute): boolean =>
  !isWritable(attribute) || (localized && attribute.name === 'localizations');
