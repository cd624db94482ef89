/** What a form says of an attribute beforehand. The rules are the server's. */
import type { Attribute, Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import type { Field } from '../form/fields.js';

const { hints } = words.content;

/** @param type that has the attribute */
export const hintsOf = (attribute: Attribute, type: Type, field: Field | undefined): string => {
  const { minLength, maxLength, min, max, regex, unique, customField, component, zone } = attribute;
  const value = field?.kind === 'scalar' && typeof field.value === 'string' ? field.value : '';
  const most = component?.max ?? zone?.max ?? null;
  const least = component?.min ?? zone?.min ?? null;
  return [
    minLength !== null && hints.minLength(Number(minLength)),
    maxLength !== null && hints.maxLength(value.length, Number(maxLength)),
    min !== null && hints.min(String(min)),
    max !== null && hints.max(String(max)),
    least !== null && hints.least(least),
    most !== null && hints.most(most),
    regex !== null && hints.regex(regex),
    unique && hints.unique,
    customField !== null && hints.customField(customField),
    type.localized && !attribute.localized && hints.shared,
    attribute.private && hints.private,
  ]
    .filter((it) => it !== false)
    .join(' · ');
};
