/**
 * One place of a query as plain data: a text, a key without a value, a list, or members by name. All values are texts, as
 * they are in a URL. Nothing here knows the model.
 */
export type Node = string | null | readonly Node[] | Members;
/** In the order given. Attributes never have names of digits only, whose order JavaScript would change. */
export interface Members {
  readonly [name: string]: Node;
}
export type Path = readonly string[];

export const noMembers: Members = {};

export const isList = (node: Node | undefined): node is readonly Node[] => Array.isArray(node);
export const isMembers = (node: Node | undefined): node is Members =>
  node !== null && typeof node === 'object' && !Array.isArray(node);

export const memberOf = (members: Members, name: string): Node | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** With another value for one name, at the place where it was or at the end; without the name if the value is undefined. */
export const withMember = (members: Members, name: string, node: Node | undefined): Members => {
  if (node !== undefined) return { ...members, [name]: node };
  return Object.fromEntries(Object.entries(members).filter(([it]) => it !== name));
};

/** With another name, at the same place. */
export const renamed = (members: Members, from: string, to: string): Members =>
  Object.fromEntries(Object.entries(members).map(([name, node]) => [name === from ? to : name, node]));

/** The node at a path of names and indexes. */
export const nodeAt = (node: Node | undefined, path: Path): Node | undefined => {
  let here = node;
  for (const name of path) {
    if (isList(here)) here = here[Number(name)];
    else if (isMembers(here)) here = memberOf(here, name);
    else return undefined;
  }
  return here;
};

/** Replaces the node at a path, or removes it and all that is empty without it. Undefined if nothing is left. */
export const withNodeAt = (node: Node | undefined, path: Path, next: Node | undefined): Node | undefined => {
  const [name, ...rest] = path;
  if (name === undefined) return next;
  if (isList(node)) {
    const index = Number(name);
    const inner = withNodeAt(node[index], rest, next);
    const items = inner === undefined ? node.filter((_, i) => i !== index) : [...node];
    if (inner !== undefined) items[index] = inner;
    return items.length > 0 ? items : undefined;
  }
  const members = isMembers(node) ? node : noMembers;
  const changed = withMember(members, name, withNodeAt(memberOf(members, name), rest, next));
  return Object.keys(changed).length > 0 ? changed : undefined;
};
