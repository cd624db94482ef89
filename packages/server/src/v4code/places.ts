/** `strapi.dirs`: where a project's folders are, and where v4 would run them from. */
import path from 'node:path';
import { distOf } from './loading/tsconfig.js';
import { withMissing } from './strapi-utils/missing.js';

export const dirsOf = (dir: string, publicDir: unknown): object =>
  withMissing('strapi.dirs', {
    app: withMissing('strapi.dirs.app', foldersBelow(dir)),
    dist: withMissing('strapi.dirs.dist', foldersBelow(distOf(dir))),
    static: withMissing('strapi.dirs.static', {
      public: path.resolve(dir, typeof publicDir === 'string' ? publicDir : 'public'),
    }),
  });

const foldersBelow = (root: string) => ({
  root,
  src: path.join(root, 'src'),
  api: path.join(root, 'src/api'),
  components: path.join(root, 'src/components'),
  policies: path.join(root, 'src/policies'),
  middlewares: path.join(root, 'src/middlewares'),
  extensions: path.join(root, 'src/extensions'),
  config: path.join(root, 'config'),
});
