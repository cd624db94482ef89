/** The algebra of R3 to R9, implemented naively. */
export type Id = number;
export type Position =
  | { readonly start: true }
  | { readonly end: true }
  | { readonly before: Id }
  | { readonly after: Id };
export interface Element {
  readonly id: Id;
  /** At the end by default. */
  readonly position?: Position;
}
export interface Moves {
  readonly disconnect: readonly Id[];
  readonly connect: readonly Element[];
}

/** The list after the moves; every anchor exists when it is needed. */
export const moved = (list: readonly Id[], { disconnect, connect }: Moves): readonly Id[] => {
  let order = list.filter((id) => !disconnect.includes(id));
  for (const { id, position = { end: true } } of connect) {
    const rest = order.filter((other) => other !== id);
    const at =
      'start' in position
        ? 0
        : 'end' in position
          ? rest.length
          : 'before' in position
            ? rest.indexOf(position.before)
            : rest.indexOf(position.after) + 1;
    order = [...rest.slice(0, at), id, ...rest.slice(at)];
  }
  return order;
};
