/** The entry and the components that a body has values of, and the removal of what a body cannot write. */
import { type Attribute, type EntryType, isWritable, type Model } from '../model/model.js';

type Data = Readonly<Record<string, unknown>>;

export interface DataPlace<D extends Data> {
  readonly data: D;
  readonly type: EntryType;
  readonly path: readonly string[];
}

/** What a body says under a name; undefined for what its prototype has. */
export const ownMember = (data: Data, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : undefined);

const PROTOTYPE = '__proto__';

/**
 * Removes `__proto__`, which has no effect in bodies (BO3): code that assigns all members of a body to an object would make it the
 * prototype of that.
 */
export const dropPrototypes = (data: Readonly<Record<string, unknown>>, type: EntryType, model: Model): void => {
  for (const place of placesOf(data as Record<string, unknown>, type, model)) delete place.data[PROTOTYPE];
};

/** Removes what requests cannot write (BO4), before code sees the data: what stands there afterwards is the code's own. */
export const dropUnwritable = (data: Readonly<Record<string, unknown>>, type: EntryType, model: Model): void => {
  for (const place of placesOf(data as Record<string, unknown>, type, model))
    for (const name of Object.keys(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (attribute && isLeftOut(attribute)) delete place.data[name];
    }
};

/** Whether a body cannot write it. What nothing writes is left where it is. */
export const isLeftOut = (attribute: Attribute): boolean =>
  !isWritable(attribute) && !(attribute.kind === 'scalar' && attribute.rules.frozen);

/** The entry first, then its components; iterative, because clients choose how deep these are nested. */
export function* placesOf<D extends Data>(data: D, type: EntryType, model: Model): Generator<DataPlace<D>> {
  const places: DataPlace<D>[] = [{ data, type, path: [] }];
  for (const place of places) {
    yield place;
    for (const [name, value] of Object.entries(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (attribute?.kind !== 'part') continue;
      const path = [...place.path, name];
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      for (const [i, item] of items.entries()) {
        if (item === null || typeof item !== 'object') continue;
        const inside = item as D;
        const uid = attribute.shape === 'zone' ? inside['__component'] : attribute.components[0];
        const component = typeof uid === 'string' ? model.types.get(uid) : undefined;
        if (component)
          places.push({ data: inside, type: component, path: Array.isArray(value) ? [...path, String(i)] : path });
      }
    }
  }
}
