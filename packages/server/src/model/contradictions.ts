/** What an attribute of a schema file says against itself: rules that contradict each other or its type. */
import { orNearest, sayIssue } from '../errors.js';
import { isEnumerated, type ScalarTypeName, scalarTypes } from './attributes.js';
import { type AttributeFile, readRules, type ScalarFile } from './schema.js';

type Found = readonly [key: string, message: string];

/** Keys of an attribute and what is wrong with them. `draft`: new entries may be drafts, which may be incomplete. */
export const contradictions = (it: AttributeFile, draft: boolean): readonly Found[] => {
  switch (it.type) {
    case 'relation':
    case 'media':
      return [];
    case 'component':
      return it['repeatable'] === true ? crossed(it, 'min', 'max') : [];
    case 'dynamiczone':
      return crossed(it, 'min', 'max');
    default:
      return scalarContradictions(it as ScalarFile, draft);
  }
};

const scalarContradictions = (it: ScalarFile, draft: boolean): readonly Found[] => {
  const name = it.type as ScalarTypeName;
  const type = scalarTypes[name];
  const rules = readRules(it);
  const found: Found[] = [];
  const twice = rules.values.find((value, i) => rules.values.indexOf(value) !== i);
  if (isEnumerated(name) && rules.values.length === 0) found.push(['enum', 'needs a list of at least one value']);
  if (isEnumerated(name) && twice !== undefined) found.push(['enum', `names "${twice}" twice`]);
  if (rules.regex !== null && !isRegex(rules.regex)) found.push(['regex', 'is not a regular expression']);
  if (type.numeric) {
    const bounds = (['min', 'max'] as const).filter((key) => rules[key] !== null);
    for (const key of bounds) {
      if (!type.parseText(String(rules[key]), []).ok) found.push([key, `"${rules[key]}" is no bound of ${name}`]);
    }
    found.push(...crossed(it, 'min', 'max'));
  }
  found.push(...crossed(it, 'minLength', 'maxLength'));
  // a default is held against rules that can be trusted
  if (found.length > 0 || rules.defaultValue == null) return found;
  const parsed = type.parseJson(rules.defaultValue, { rules, path: ['default'], draft });
  if (parsed.ok) return [];
  return parsed.issues.map((fault): Found => {
    if (fault.code !== 'body.enumeration') return ['default', sayIssue(fault)];
    const value = String(rules.defaultValue);
    return ['default', `"${value}" is not in "enum"${orNearest(value, rules.values)}`];
  });
};

/** Bounds of which the lower one is above the upper one; what is no number is never above another. */
const crossed = (it: AttributeFile, low: string, high: string): readonly Found[] =>
  it[low] != null && it[high] != null && Number(it[low]) > Number(it[high])
    ? [[low, `${it[low]} is above "${high}": ${it[high]}`]]
    : [];

const isRegex = (text: string): boolean => {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
};
