/** The entry and the components that a body has values of. */
import type { EntryType, Model } from '../model/model.js';

type Data = Readonly<Record<string, unknown>>;

export interface DataPlace<D extends Data> {
  readonly data: D;
  readonly type: EntryType;
  readonly path: readonly string[];
}

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
