/** The media library without a browser: which picture stands for a file, folders, the address of a view, uploads, selection. */
import { describe, expect, it } from 'vitest';
import {
  acceptOf,
  addressOf,
  formatsOf,
  kindOf,
  kindsAllowed,
  type MediaFile,
  pictureOf,
} from '../src/parts/media/files.js';
import {
  contentsOf,
  type Folder,
  foldersShown,
  mayMoveTo,
  pathOf,
  trailOf,
  treeOf,
  withBelow,
} from '../src/parts/media/folders.js';
import { addressParts, changed, filtersOf, firstListing, listingOf } from '../src/parts/media/listing.js';
import { noSelection, placeAfter, selected } from '../src/parts/media/selection.js';
import { countsOf, newUploads, progressOf, type SendFile, type Upload } from '../src/parts/media/uploads.js';
import { oneByOne } from '../src/rooms/media/one-by-one.js';
import { words } from '../src/words/index.js';

const file = (more: Partial<MediaFile>): MediaFile => ({
  id: 1,
  name: 'boat.png',
  alternativeText: null,
  caption: null,
  width: 600,
  height: 400,
  formats: null,
  ext: '.png',
  mime: 'image/png',
  size: 12.5,
  url: '/uploads/boat.png',
  previewUrl: null,
  provider: 'local',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...more,
});
const format = (url: string, width: number) => ({ url, width, height: width, size: 1 });

describe('files', () => {
  it('the smallest picture that is wide enough stands for a file, the file itself if it has no formats', () => {
    const formats = { small: format('/s', 500), thumbnail: format('/t', 245) };
    expect(pictureOf(file({ formats }), 200)).toBe('/t');
    expect(pictureOf(file({ formats }), 300)).toBe('/s');
    expect(pictureOf(file({}), 200)).toBe('/uploads/boat.png');
    expect(pictureOf(file({ formats: {} }), 200)).toBe('/uploads/boat.png');
  });

  it('a picture that browsers cannot draw is shown by its formats only, and what is no picture never', () => {
    expect(pictureOf(file({ mime: 'image/tiff' }), 200)).toBeNull();
    expect(pictureOf(file({ mime: 'image/tiff', formats: { thumbnail: format('/t', 100) } }), 200)).toBe('/t');
    expect(pictureOf(file({ mime: 'text/html', url: '/uploads/page.html' }), 200)).toBeNull();
    expect(pictureOf(file({ mime: 'image/svg+xml', url: '/uploads/a.svg' }), 200)).toBe('/uploads/a.svg');
  });

  it('formats come in order of size, and rows that plugins have broken are left out', () => {
    const formats = { large: format('/l', 1000), thumbnail: format('/t', 245), odd: null } as never;
    expect(formatsOf({ formats }).map((it) => it.name)).toEqual(['thumbnail', 'large']);
  });

  it('the kinds of a media attribute', () => {
    expect(kindsAllowed(null)).toEqual(['image', 'video', 'audio', 'file']);
    expect(kindsAllowed(['videos', 'images'])).toEqual(['image', 'video']);
    expect(acceptOf(['image', 'video'])).toBe('image/*,video/*');
    expect(acceptOf(['image', 'file'])).toBeUndefined();
    expect(['image/PNG', 'video/mp4', 'audio/ogg', 'application/pdf', ''].map(kindOf)).toEqual([
      ...['image', 'video', 'audio', 'file', 'file'],
    ]);
  });

  it('addresses of a bucket stay as they are', () => {
    expect(addressOf('/uploads/a.png', 'https://x.example/cms')).toBe('https://x.example/cms/uploads/a.png');
    expect(addressOf('https://cdn.example/a.png', 'https://x.example')).toBe('https://cdn.example/a.png');
  });
});

describe('folders', () => {
  const folder = (id: number, name: string, parent: number | null = null, files = 0): Folder => ({
    id,
    name,
    parent,
    files,
  });
  const folders = [
    folder(1, 'b'),
    folder(2, 'a'),
    folder(3, 'inner', 1, 2),
    folder(4, 'innermost', 3, 3),
    folder(10, 'b 10'),
    folder(5, 'b 9'),
  ];

  it('make a tree, sorted by name, in which numbers count', () => {
    expect(treeOf(folders).map((it) => it.name)).toEqual(['a', 'b', 'b 9', 'b 10']);
    expect(trailOf(folders, 4).map((it) => it.name)).toEqual(['b', 'inner', 'innermost']);
    expect(trailOf(folders, null)).toEqual([]);
  });

  it('none is lost if its parent is gone or rows point at each other', () => {
    const odd = [folder(1, 'a', 9), folder(2, 'b', 3), folder(3, 'c', 2)];
    expect(treeOf(odd).map((it) => it.name)).toEqual(['a', 'b', 'c']);
    expect(trailOf(odd, 2).map((it) => it.name)).toEqual(['c', 'b']);
  });

  it('move anywhere but into themselves or where they are', () => {
    expect([...withBelow(folders, 1)]).toEqual([1, 3, 4]);
    expect([mayMoveTo(folders, 1, 4), mayMoveTo(folders, 1, 1), mayMoveTo(folders, 3, 1)]).toEqual([
      false,
      false,
      false,
    ]);
    expect([mayMoveTo(folders, 3, null), mayMoveTo(folders, 4, 2), mayMoveTo(folders, 1, null)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(contentsOf(folders, 1)).toEqual({ files: 5, folders: 2 });
  });

  it('stand beside the files that are in the same place, and are found by name wherever they are', () => {
    const names = (view: { folder: number | null; q: string }) => foldersShown(folders, view).map((it) => it.name);
    expect(names({ folder: null, q: '' })).toEqual(['a', 'b', 'b 9', 'b 10']);
    expect(names({ folder: 1, q: '' })).toEqual(['inner']);
    expect(names({ folder: 2, q: ' INNER' })).toEqual(['inner', 'innermost']);
    expect([pathOf(folders, 4), pathOf(folders, null)]).toEqual(['b / inner / innermost', null]);
  });
});

describe('a view of the library', () => {
  it('has an address of what differs from the first one, and reads it back', () => {
    const listing = { ...firstListing, folder: 3, q: 'boat', page: 2, view: 'list' as const };
    expect(addressParts(firstListing)).toEqual({});
    expect(addressParts(listing)).toEqual({ folder: 3, q: 'boat', page: 2, view: 'list' });
    expect(listingOf(addressParts(listing))).toEqual(listing);
    expect(listingOf({ page: '-1', kind: 'nope', sort: 'x', folder: 'y' })).toEqual(firstListing);
  });

  it('begins at its first page when something else than the page or the view changes', () => {
    const third = { ...firstListing, page: 3 };
    expect(changed(third, { q: 'a' }).page).toBe(1);
    expect(changed(third, { view: 'list' }).page).toBe(3);
    expect(changed(third, { page: 4 }).page).toBe(4);
  });

  it('asks for a folder, or searches in all of them, and for kinds', () => {
    expect(filtersOf(firstListing)).toEqual({ $and: [{ folder: { id: { $null: true } } }] });
    expect(filtersOf({ ...firstListing, folder: 7 }, ['image'])).toEqual({
      $and: [{ folder: { id: { $eq: 7 } } }, { $or: [{ mime: { $startsWith: 'image/' } }] }],
    });
    expect(filtersOf({ ...firstListing, folder: 7, q: ' x ' })).toEqual({
      $and: [
        {
          $or: [
            { name: { $containsi: 'x' } },
            { alternativeText: { $containsi: 'x' } },
            { caption: { $containsi: 'x' } },
          ],
        },
      ],
    });
  });
});

describe('a selection', () => {
  const shown = [1, 2, 3, 4, 5];
  it('grows by ranges from where it began, over clicks and keys', () => {
    const one = selected(noSelection, 2, 'toggle', shown);
    expect([...selected(one, 4, 'range', shown).ids]).toEqual([2, 3, 4]);
    expect([...selected(one, 2, 'toggle', shown).ids]).toEqual([]);
    expect([...selected(one, 5, 'only', shown).ids]).toEqual([5]);
    expect([...selected(noSelection, 3, 'range', shown).ids]).toEqual([3]);
  });

  it('keys move within the rows of a grid', () => {
    expect([
      placeAfter('ArrowDown', 1, 5, 3),
      placeAfter('ArrowDown', 3, 5, 3),
      placeAfter('ArrowUp', 4, 5, 3),
    ]).toEqual([4, 3, 1]);
    expect([placeAfter('ArrowLeft', 0, 5, 3), placeAfter('End', 0, 5, 3), placeAfter('x', 0, 5, 3)]).toEqual([
      0,
      4,
      null,
    ]);
  });
});

describe('uploads', () => {
  interface Sent {
    readonly name: string;
    readonly done: (id: number) => void;
    readonly fail: (fault: Error) => void;
    readonly progress: (sent: number, total: number) => void;
  }
  const scene = () => {
    const sent: Sent[] = [];
    const send: SendFile = (given, _folder, { signal, onProgress }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        sent.push({
          name: given.name,
          done: (id) => resolve(file({ id })),
          fail: reject,
          progress: (bytes, total) => onProgress({ sent: bytes, total }),
        });
      });
    const uploads = newUploads(send);
    const kinds = () => uploads.all().map((it: Upload) => it.state.kind);
    const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
    return { sent, uploads, kinds, settled };
  };
  const files = (...names: string[]) => names.map((it) => new File(['0123456789'], it));

  it('go two at a time, and tell how far they are', async () => {
    const { sent, uploads, kinds, settled } = scene();
    const stored = uploads.add(files('a', 'b', 'c'), null);
    expect(kinds()).toEqual(['sending', 'sending', 'waiting']);
    sent[0]!.progress(5, 10);
    expect(progressOf(uploads.all())).toEqual({ sent: 5, total: 30 });
    sent[0]!.progress(10, 10);
    expect(kinds()[0]).toBe('processing');
    sent[0]!.done(1);
    await settled();
    expect(kinds()).toEqual(['done', 'sending', 'sending']);
    sent[1]!.fail(new Error('too large'));
    sent[2]!.done(3);
    expect((await stored).map((it) => it.id)).toEqual([1, 3]);
    expect([kinds(), progressOf(uploads.all())]).toEqual([['done', 'failed', 'done'], null]);
    expect(words.media.upload.summary(countsOf(uploads.all()))).toBe('2 of 3 files uploaded, 1 failed');
    // the next ones have a progress of their own; what failed is still there with its reason
    void uploads.add(files('d'), null);
    expect([kinds(), progressOf(uploads.all())]).toEqual([['failed', 'sending'], { sent: 0, total: 10 }]);
    uploads.cancelAll();
    await settled();
    expect(kinds()).toEqual(['failed', 'cancelled']);
    uploads.retryAll();
    expect(kinds()).toEqual(['sending', 'sending']);
    uploads.cancelAll();
    await settled();
    uploads.clear();
    expect(kinds()).toEqual([]);
  });

  it('are cancelled, and sent again', async () => {
    const { sent, uploads, kinds, settled } = scene();
    const retried: number[] = [];
    const stored = uploads.add(files('a', 'b', 'c'), null, (it) => retried.push(it.id));
    const [a, , c] = uploads.all();
    uploads.cancel(c!.key);
    uploads.cancel(a!.key);
    await settled();
    expect(kinds()).toEqual(['cancelled', 'sending', 'cancelled']);
    sent[1]!.done(2);
    expect((await stored).map((it) => it.id)).toEqual([2]);
    uploads.retry(a!.key);
    expect(kinds()).toEqual(['sending', 'done', 'cancelled']);
    sent[2]!.done(1);
    await settled();
    expect(kinds()).toEqual(['done', 'done', 'cancelled']);
    // whoever added them hears of it: a picker chooses it
    expect(retried).toEqual([1]);
  });
});

describe('many changes one after the other', () => {
  const run = async (stopAfter: number, refused: number | null) => {
    const stopping = new AbortController();
    const progress: number[] = [];
    const result = await oneByOne(
      [1, 2, 3, 4],
      async (it) => {
        if (it === refused) throw new Error('no such folder');
      },
      {
        signal: stopping.signal,
        onProgress: (done) => {
          progress.push(done);
          if (done === stopAfter) stopping.abort();
        },
      },
    );
    return { ...result, progress };
  };

  it('tell how far they are, and stop when they are told to', async () => {
    expect(await run(9, null)).toEqual({ done: [1, 2, 3, 4], fault: null, progress: [0, 1, 2, 3, 4] });
    expect(await run(2, null)).toEqual({ done: [1, 2], fault: null, progress: [0, 1, 2] });
  });

  it('end at the first that is refused, and name those that are done', async () => {
    expect(await run(9, 3)).toEqual({ done: [1, 2], fault: new Error('no such folder'), progress: [0, 1, 2] });
  });
});
