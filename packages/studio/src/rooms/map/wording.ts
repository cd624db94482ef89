/** Attributes in words. */
import type { Attribute, Model } from '../../model/model.js';
import { typeOf } from '../../model/model.js';
import { words } from '../../words/index.js';
import type { Edge, End } from './graph.js';

const texts = words.map;

const nameOfType = (model: Model, uid: string): string => typeOf(model, uid)?.displayName ?? uid;

/** What stands behind an attribute: `string`, `→ Author`, `→ many Article`, `Quote | Gallery`. */
export const kindOf = (model: Model, { type, relation, component, zone, customField, media }: Attribute): string => {
  if (relation) {
    const target = relation.target ? nameOfType(model, relation.target) : texts.any;
    return relation.list ? texts.leadsToMany(target) : texts.leadsTo(target);
  }
  if (component) {
    const name = nameOfType(model, component.uid);
    return component.repeatable ? texts.manyOf(name) : name;
  }
  if (zone) return zone.components.map((it) => nameOfType(model, it)).join(' | ');
  if (media) return media.multiple ? texts.manyOf(texts.media) : texts.media;
  return customField ?? type;
};

export const rulesOf = (attribute: Attribute): readonly string[] => {
  const { required, unique, min, max, minLength, maxLength, regex, targetField } = attribute;
  const { rules } = texts;
  return [
    ...(required ? [rules.required] : []),
    ...(unique ? [rules.unique] : []),
    ...(attribute.private ? [rules.private] : []),
    ...(attribute.localized ? [rules.localized] : []),
    ...(attribute.enum ? [attribute.enum.join(', ')] : []),
    ...(min === null ? [] : [rules.min(min)]),
    ...(max === null ? [] : [rules.max(max)]),
    ...(minLength === null ? [] : [rules.minLength(minLength)]),
    ...(maxLength === null ? [] : [rules.maxLength(maxLength)]),
    ...(regex === null ? [] : [rules.regex(regex)]),
    ...(targetField === null ? [] : [rules.targetField(targetField)]),
  ];
};

/** What an attribute at one end holds of the type at the other. */
const sayEnd = (model: Model, near: End, far: End): string | null =>
  near.attribute === null
    ? null
    : texts.holds[far.count](`${nameOfType(model, near.uid)}.${near.attribute}`, nameOfType(model, far.uid));

/** `Article.author → Author; Author.articles → many Article` */
export const sayEdge = (model: Model, { from, to }: Edge): string =>
  [sayEnd(model, from, to), sayEnd(model, to, from)].filter((it) => it !== null).join('; ');
