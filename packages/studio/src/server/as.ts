/** With whose rights an administrator looks: their own, or those of a role or an API token of the API. */
export type As =
  | { readonly kind: 'self' }
  | { readonly kind: 'role'; readonly type: string }
  | { readonly kind: 'token'; readonly id: number; readonly name: string };

export const asSelf: As = { kind: 'self' };

/** The headers that ask for these rights: `Dovetail-As`. */
export const headersOf = (as: As): Readonly<Record<string, string>> => {
  switch (as.kind) {
    case 'self':
      return {};
    case 'role':
      return { 'dovetail-as': `role:${as.type}` };
    case 'token':
      return { 'dovetail-as': `token:${as.id}` };
  }
};

/** For query keys. */
export const keyOf = (as: As): string => headersOf(as)['dovetail-as'] ?? 'self';
