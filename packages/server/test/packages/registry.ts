/** A registry of npm that has the packed packages, and sends everybody to the real one for all others. */
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Packed } from './packed.ts';

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/** @param upstream the URL of the real registry, with a slash at its end. */
export const newRegistry = async (packages: readonly Packed[], upstream: string): Promise<Registry> => {
  const files = new Map(packages.map((it) => [path.basename(it.tarball), fs.readFileSync(it.tarball)]));
  const byName = new Map(packages.map((it) => [it.name, it]));
  const server = http.createServer((request, response) => {
    const target = (request.url ?? '/').slice(1);
    const file = files.get(path.basename(target));
    const found = byName.get(target);
    if (file) response.end(file);
    else if (found) {
      const { name, version, manifest, tarball } = found;
      const bytes = files.get(path.basename(tarball))!;
      const integrity = `sha512-${crypto.createHash('sha512').update(bytes).digest('base64')}`;
      const dist = { tarball: `${url}${name}/-/${path.basename(tarball)}`, integrity };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }),
      );
    } else response.writeHead(302, { location: new URL(target, upstream).href }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
