/** What backups are called, and what a restore has put aside. */
import fs from 'node:fs';

/** `backup-2026-11-22-093600.db`. */
export const newBackupName = (extension: 'db' | 'dump'): string => `backup-${stamp()}.${extension}`;

/** The folder with the uploads of a backup. */
export const uploadsBeside = (file: string): string => `${file}.uploads`;

/** The ending of what is put aside, `before-restore-2026-11-22-093600`: no other restore of the same second has put anything there. */
export const freeSuffix = (places: readonly string[]): string => {
  const first = `before-restore-${stamp()}`;
  const isFree = (suffix: string): boolean => !places.some((it) => fs.existsSync(`${it}.${suffix}`));
  let suffix = first;
  for (let i = 2; !isFree(suffix); i++) suffix = `${first}-${i}`;
  return suffix;
};

/** `2026-11-22-093600`, in UTC. */
const stamp = (): string => new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
