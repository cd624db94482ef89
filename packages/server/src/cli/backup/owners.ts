/** Root restores what the server, another user, has to write. */
import fs from 'node:fs';
import path from 'node:path';

/** Of what is there, or of the folder that it will be in; null if that is not there either. */
export const ownerOf = (place: string): fs.Stats | null =>
  [place, path.dirname(place)].map((it) => fs.statSync(it, { throwIfNoEntry: false })).find((it) => it !== undefined) ??
  null;

export const giveTo = (owner: fs.Stats | null, place: string): void => {
  if (owner !== null && process.getuid?.() === 0) fs.lchownSync(place, owner.uid, owner.gid);
};

/** A folder and all that is in it. What links lead to is not; Node's recursive `readdir` follows them. */
export const giveAllTo = (owner: fs.Stats | null, folder: string): void => {
  giveTo(owner, folder);
  for (const it of fs.readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, it.name);
    if (it.isDirectory()) giveAllTo(owner, place);
    else giveTo(owner, place);
  }
};
