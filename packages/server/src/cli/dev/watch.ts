/**
 * Watches the files of a project. By chokidar, because Node's own recursive watching is not enough: on Linux Node 26 loses a
 * folder that is deleted and made again, and earlier versions miss the second save of an editor that renames.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';

/** Files that were saved together. */
export interface Batch {
  /** Absolute paths whose content changed. */
  readonly files: readonly string[];
  /** `performance.now()` of the first event. */
  readonly since: number;
}

export interface Watching {
  /** Watches further files, wherever they are. */
  add(files: readonly string[]): void;
  close(): Promise<void>;
}

export interface WatchOptions {
  /** Called once for all files that are saved within moments of each other, such as by `git checkout`. */
  readonly onBatch: (batch: Batch) => void;
  readonly onFault: (fault: Error) => void;
}

/** Resolves once every later change is noticed. Files whose content is as before are not reported. */
export const watchProject = async (dir: string, { onBatch, onFault }: WatchOptions): Promise<Watching> => {
  const further = new Set<string>();
  const isFurther = (file: string): boolean => further.has(file);
  const watcher = watch(dir, {
    ignored: (file) => !isOfProject(path.relative(dir, file)) && !isFurther(file),
    ignoreInitial: true,
  });
  await new Promise<void>((resolve, reject) => {
    watcher.once('ready', resolve);
    watcher.once('error', (fault) => reject(inotifyFault(fault as Error)));
  });
  watcher.on('error', (fault) => onFault(inotifyFault(fault as Error)));

  const contents = new Map<string, Content>();
  /** All that differs from the last time. Events only say when to look: chokidar reports some late, and some not at all. */
  const changedFiles = (): readonly string[] => {
    const files = new Set([...filesBelow(dir, ''), ...contents.keys()]);
    return [...files].filter((file) => {
      const before = contents.get(file);
      const now = contentOf(file, before);
      contents.set(file, now);
      // a new folder alone says nothing: its files follow
      return now.digest !== (before?.digest ?? NONE) && now.digest !== FOLDER;
    });
  };
  changedFiles();

  let since: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const files = changedFiles();
    if (files.length > 0) {
      onBatch({ files, since: since ?? performance.now() });
      lookAgain();
    }
    since = null;
  };
  watcher.on('all', () => {
    const now = performance.now();
    since ??= now;
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(0, Math.min(QUIET_MS, since + BATCH_MS_MAX - now)));
  });

  let second: NodeJS.Timeout | undefined;
  /** Finds what was saved in a new folder before it was watched, and what chokidar takes for deleted when it was made again at once. */
  const lookAgain = (): void => {
    clearTimeout(second);
    second = setTimeout(() => {
      const watched = new Set(watchedBy(watcher));
      watcher.add(filesBelow(dir, '').filter((it) => !watched.has(it)));
      look();
    }, SECOND_LOOK_MS);
  };

  return {
    add: (files) => {
      const missing = files.filter((it) => !isOfProject(path.relative(dir, it)) && !further.has(it));
      if (missing.length === 0) return;
      for (const file of missing) {
        // the folder is watched for editors that replace the file
        for (const it of [file, path.dirname(file)]) further.add(it);
        contents.set(file, contentOf(file, undefined));
      }
      watcher.add(missing.map((it) => path.dirname(it)));
      lookAgain();
    },
    close: () => {
      clearTimeout(timer);
      clearTimeout(second);
      return watcher.close();
    },
  };
};

/** A batch ends when nothing happens for so long … */
const QUIET_MS = 40;
/** … or goes on for so long. */
const BATCH_MS_MAX = 1000;
const SECOND_LOOK_MS = 250;

/** Whether a path, relative to the project folder, may be of interest: code, schema files, seeds, configuration. */
export const isOfProject = (relative: string): boolean => {
  if (relative === '') return true;
  const [first = '', ...rest] = relative.split(path.sep);
  if (first === '..' || path.isAbsolute(relative)) return false;
  if (rest.length === 0 && /^(\.env|package\.json|dovetail\.config\.(ts|js|json))$/.test(first)) return true;
  if (first === 'database') return rest.length === 0 || rest[0] === 'seed' || rest[0] === 'migrations';
  if (first !== 'src' && first !== 'config') return false;
  // hidden files, those of editors, and v4's admin panel
  return !rest.some((it) => it.startsWith('.') || it.endsWith('~') || it === 'node_modules') && rest[0] !== 'admin';
};

const watchedBy = (watcher: FSWatcher): readonly string[] =>
  Object.entries(watcher.getWatched()).flatMap(([dir, names]) => names.map((it) => path.join(dir, it)));

/** The files and folders of the project, as absolute paths. */
const filesBelow = (dir: string, folder: string): readonly string[] =>
  entriesOf(path.join(dir, folder)).flatMap((it) => {
    const name = path.join(folder, it.name);
    if (!isOfProject(name)) return [];
    return [path.join(dir, name), ...(it.isDirectory() ? filesBelow(dir, name) : [])];
  });

/** None in a folder that was just deleted. */
const entriesOf = (folder: string): readonly fs.Dirent[] => {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};

const NONE = 'none';
const FOLDER = 'folder';

interface Content {
  /** Of the text, or one of those above. */
  readonly digest: string;
  /** As long as it is the same, the text is not read again. */
  readonly version: string;
}

const contentOf = (file: string, before: Content | undefined): Content => {
  try {
    const stat = fs.statSync(file);
    if (stat.isDirectory()) return { digest: FOLDER, version: '' };
    const version = [stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(' ');
    if (before?.version === version) return before;
    return { digest: crypto.hash('sha256', fs.readFileSync(file), 'base64'), version };
  } catch {
    return { digest: NONE, version: '' };
  }
};

const inotifyFault = (fault: NodeJS.ErrnoException): Error =>
  fault.code === 'ENOSPC'
    ? new Error('the system watches no more files (fs.inotify.max_user_watches): changes may go unnoticed', {
        cause: fault,
      })
    : fault;
