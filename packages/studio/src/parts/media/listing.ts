/** A view of the library: what its address says, and the query that it takes. */
import { type Kind, kinds } from './files.js';

export const sorts = [
  'createdAt:desc',
  'createdAt:asc',
  'name:asc',
  'name:desc',
  'updatedAt:desc',
  'size:desc',
] as const;
export type FileSort = (typeof sorts)[number];

export interface Listing {
  /** Null is the top of the library. */
  readonly folder: number | null;
  /** Searched for in all folders. */
  readonly q: string;
  readonly kind: Kind | null;
  readonly sort: FileSort;
  /** From 1. */
  readonly page: number;
  readonly view: 'grid' | 'list';
}

export const firstListing: Listing = { folder: null, q: '', kind: null, sort: 'createdAt:desc', page: 1, view: 'grid' };

/** Files of a page: rows of two to eight columns come out even. */
export const PAGE_SIZE = 48;

/** Reads the address; what is not understood is as if it were absent. */
export const listingOf = (search: Readonly<Record<string, unknown>>): Listing => {
  const { folder, q, kind, sort, page, view } = search;
  const positive = (value: unknown): number | null => {
    const number = typeof value === 'number' ? value : Number(typeof value === 'string' ? value : Number.NaN);
    return Number.isSafeInteger(number) && number > 0 ? number : null;
  };
  return {
    folder: positive(folder),
    q: typeof q === 'string' || typeof q === 'number' ? String(q) : '',
    kind: kinds.find((it) => it === kind) ?? null,
    sort: sorts.find((it) => it === sort) ?? firstListing.sort,
    page: positive(page) ?? 1,
    view: view === 'list' ? 'list' : 'grid',
  };
};

/** The search part of an address. */
export type Address = { readonly [Key in keyof Listing]?: NonNullable<Listing[Key]> };

/** Only what differs from the first view. */
export const addressParts = (listing: Listing): Address =>
  Object.fromEntries(
    Object.entries(listing).filter(([name, value]) => value !== null && value !== firstListing[name as keyof Listing]),
  );

/** Another folder, search, kind or order begins at its first page. */
export const changed = (listing: Listing, change: Partial<Listing>): Listing => {
  const staysOnPage = Object.keys(change).every((it) => it === 'view' || it === 'page');
  return { ...listing, ...(staysOnPage ? {} : { page: 1 }), ...change };
};

const ofKind = (kind: Kind): object =>
  kind === 'file'
    ? { $not: { $or: kinds.filter((it) => it !== 'file').map((it) => ({ mime: { $startsWith: `${it}/` } })) } }
    : { mime: { $startsWith: `${kind}/` } };

/** @param kindsShown of a picker, which shows only what an attribute takes. */
export const filtersOf = ({ folder, q, kind }: Listing, kindsShown: readonly Kind[] = kinds): object => {
  const text = q.trim();
  const shown = kind === null ? kindsShown : kindsShown.filter((it) => it === kind);
  const conditions: object[] = [];
  if (text !== '')
    conditions.push({ $or: ['name', 'alternativeText', 'caption'].map((it) => ({ [it]: { $containsi: text } })) });
  else conditions.push({ folder: folder === null ? { id: { $null: true } } : { id: { $eq: folder } } });
  if (shown.length < kinds.length) conditions.push({ $or: shown.map(ofKind) });
  return { $and: conditions };
};

export const filesQuery = (listing: Listing, kindsShown?: readonly Kind[]): object => ({
  filters: filtersOf(listing, kindsShown),
  // a search finds files of all folders, and says where each is
  ...(listing.q.trim() === '' ? {} : { populate: { folder: { fields: ['id'] } } }),
  // the id decides between files of one moment, so that pages neither repeat nor miss any
  sort: [listing.sort, 'id:desc'],
  pagination: { page: listing.page, pageSize: PAGE_SIZE },
});

export const pagesOf = (total: number): number => Math.max(1, Math.ceil(total / PAGE_SIZE));
