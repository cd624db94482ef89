/** `fileInfo`: what a client says about files. */
import { type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { isObject } from '../write/ids.js';
import type { FileInfo } from './prepare.js';

const keys = ['name', 'alternativeText', 'caption'] as const;

/**
 * One for each file, in order. One file takes one object; several take as many fields, or one with an array.
 * @param mayPlace whether `folder` is read too: administrators and code say where a file is.
 */
export const readInfos = (texts: readonly string[], count: number, mayPlace: boolean): Result<readonly FileInfo[]> => {
  if (texts.length === 0) return ok([]);
  const refuseForm = (value: unknown): Result<never> =>
    refused(issue('media.info', ['fileInfo'], { expected: count === 1 ? 'object' : 'array', value }));
  const [first = ''] = texts;
  const values = texts.map(parsed);
  if (count === 1) return isObject(values[0]) && values.length === 1 ? all(values, mayPlace) : refuseForm(first);
  const infos = values.length === 1 ? values[0] : values;
  if (!Array.isArray(infos) || !infos.every(isObject)) return refuseForm(first);
  if (infos.length > count) return refused(issue('body.too-many', ['fileInfo'], { max: count, what: 'values' }));
  return all(infos, mayPlace);
};

const all = (values: readonly unknown[], mayPlace: boolean): Result<readonly FileInfo[]> => {
  const infos: FileInfo[] = [];
  const issues: Issue[] = [];
  for (const [i, value] of values.entries()) {
    const info = readInfo(value, values.length === 1 ? ['fileInfo'] : ['fileInfo', String(i)], mayPlace);
    if (info.ok) infos.push(info.value);
    else issues.push(...info.issues);
  }
  return issues.length > 0 ? { ok: false, issues } : ok(infos);
};

/** Other keys than those of `FileInfo` have no effect, and null is as good as absent, as in v4. */
export const readInfo = (value: unknown, path: readonly string[], mayPlace: boolean): Result<FileInfo> => {
  if (!isObject(value)) return refused(issue('media.info', path, { expected: 'object', value }));
  const info: { -readonly [Key in keyof FileInfo]: FileInfo[Key] } = {};
  const issues: Issue[] = [];
  for (const key of keys) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given === undefined || given === null) continue;
    if (typeof given === 'object')
      issues.push(issue('body.type', [...path, key], { expected: 'string', value: given }));
    else if (key !== 'name' && String(given).length > limits.stringCharactersMax)
      issues.push(issue('body.max-length', [...path, key], { max: limits.stringCharactersMax }));
    else info[key] = String(given);
  }
  const folder = mayPlace && Object.hasOwn(value, 'folder') ? value['folder'] : undefined;
  if (folder !== undefined && folder !== null && !Number.isSafeInteger(folder))
    issues.push(issue('body.type', [...path, 'folder'], { expected: 'integer', value: folder }));
  else if (folder !== undefined) info.folder = folder as number | null;
  return issues.length > 0 ? { ok: false, issues } : ok(info);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
