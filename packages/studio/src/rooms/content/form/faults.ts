/** Puts the faults of a refused save where they belong. */
import type { FieldPath, Fields } from './fields.js';
import { pathTo } from './paths.js';

/** By path; those of the whole entry stand at ''. */
export type FaultsByPath = Readonly<Record<FieldPath, readonly string[]>>;

export interface FaultGiven {
  /** Names and places inside the body: `sections`, `0`, `title`. */
  readonly path: readonly string[];
  readonly message: string;
}

/** @param values what was sent: places in lists are those of its components. */
export const placeFaults = (values: Fields, faults: readonly FaultGiven[]): FaultsByPath => {
  const placed: Record<FieldPath, string[]> = {};
  for (const { path, message } of faults) {
    const at = placeOf(values, path[0] === 'data' && !('data' in values) ? path.slice(1) : path);
    placed[at] = [...(placed[at] ?? []), message];
  }
  return placed;
};

/** The path of the innermost field or component that a path of a body leads to. */
const placeOf = (values: Fields, path: readonly string[]): FieldPath => {
  let [fields, at] = [values, ''];
  for (let i = 0; i < path.length; ) {
    const name = path[i] ?? '';
    const field = fields[name];
    if (field === undefined) return at;
    at = pathTo(at, name);
    i += 1;
    if (field.kind !== 'parts') return at;
    // a component that is not repeatable has no place in a list
    const place = /^\d+$/.test(path[i] ?? '') ? Number(path[i]) : null;
    const part = field.parts[place ?? 0];
    if (part === undefined || path.length === i) return at;
    if (place !== null) i += 1;
    at = `${at}/${part.key}`;
    fields = part.fields;
  }
  return at;
};

/** Without those at a path and below it, because what is there has changed. */
export const withoutFaultsAt = (faults: FaultsByPath, path: FieldPath): FaultsByPath => {
  const isKept = (at: FieldPath): boolean => at !== path && !at.startsWith(`${path}/`);
  return Object.keys(faults).every(isKept)
    ? faults
    : Object.fromEntries(Object.entries(faults).filter(([at]) => isKept(at)));
};

/** How many faults stand at a path or below it. */
export const faultsBelow = (faults: FaultsByPath, path: FieldPath): number =>
  Object.entries(faults).reduce(
    (count, [at, found]) => (at === path || at.startsWith(`${path}/`) ? count + found.length : count),
    0,
  );
