/** The files of `deploy` are well-formed and agree with the server. `npm run deployment` tries them with nginx and systemd. */
import fs from 'node:fs';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { environmentSchema } from '../../src/cli/config.js';
import { limits } from '../../src/limits.js';

const root = path.join(import.meta.dirname, '../..');
const textOf = (name: string): string => fs.readFileSync(path.join(root, 'deploy', name), 'utf8');
/** Values of a directive, in a file of systemd (`Name=value`) or nginx (`name value;`). */
const valuesOf = (name: string, text: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\\s*${name}[= ]\\s*(.*?);?$`, 'gm'))].map(([, value]) => value!);
const known = new Set(Object.keys(environmentSchema.shape));
const bytesOf = (size: string): number => Number.parseInt(size, 10) * (size.endsWith('m') ? 1024 ** 2 : 1024);

describe('deploy', () => {
  it('is part of the package', () => {
    const { files } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { files: string[] };
    expect(files).toContain('deploy');
    expect(fs.readdirSync(path.join(root, 'deploy')).sort()).toEqual([
      'Dockerfile',
      'Dockerfile.dockerignore',
      'compose.yaml',
      'dovetail.service',
      'nginx.conf',
    ]);
  });

  const docker = textOf('Dockerfile');
  it('Dockerfile: is valid, runs node itself as another user than root, and looks at /_health', () => {
    expect(validate(docker)).toEqual([]);
    expect(valuesOf('USER', docker)).toEqual(['node']);
    expect(valuesOf('CMD', docker).at(-1)).toBe('["node", "node_modules/dovetail/bin/dovetail.js", "start"]');
    // `npm ci` needs the lock file, and tarballs that it names
    expect(valuesOf('COPY', docker)[0]).toBe('package.json package-lock.json *.tgz ./');
    expect(docker).toMatch(/HEALTHCHECK [\s\S]*\/_health/);
    expect(fs.existsSync(path.join(root, 'bin/dovetail.js'))).toBe(true);
    expect(textOf('Dockerfile.dockerignore').split('\n')).toEqual(
      expect.arrayContaining(['.env', 'node_modules', '.tmp']),
    );
  });

  it('compose.yaml: names variables that exist, and gives requests in flight their time', () => {
    const { services, volumes } = parse(textOf('compose.yaml')) as {
      services: Record<string, { environment: Record<string, string>; volumes: string[]; stop_grace_period: string }>;
      volumes: Record<string, null>;
    };
    const { environment, stop_grace_period: grace } = services['dovetail']!;
    expect(Object.keys(environment).filter((it) => !known.has(it))).toEqual([]);
    // what a start in production may ask for reaches the container
    expect(Object.keys(environment)).toEqual(
      expect.arrayContaining(['JWT_SECRET', 'API_TOKEN_SALT', 'ADMIN_JWT_SECRET']),
    );
    expect(Number.parseInt(grace, 10) * 1000).toBeGreaterThan(limits.drainMsMax + limits.closeMsMax);
    for (const service of Object.values(services))
      expect(service.volumes.map((it) => it.split(':')[0]).filter((it) => !Object.hasOwn(volumes, it!))).toEqual([]);
  });

  it('dovetail.service: gives requests in flight their time, and lets V8 compile', () => {
    const unit = textOf('dovetail.service');
    expect(Number(valuesOf('TimeoutStopSec', unit)[0]) * 1000).toBeGreaterThan(limits.drainMsMax + limits.closeMsMax);
    expect(valuesOf('MemoryDenyWriteExecute', unit)).toEqual([]);
    // the link, so that a reload starts what it leads to by then
    const [current] = valuesOf('WorkingDirectory', unit);
    expect(valuesOf('ExecStart', unit)).toEqual([
      `/usr/bin/node ${current}/node_modules/dovetail/bin/dovetail.js start --project ${current}`,
    ]);
  });

  it('nginx.conf: lets through what the server takes, and closes idle connections first', () => {
    const site = textOf('nginx.conf');
    expect(bytesOf(valuesOf('client_max_body_size', site)[0]!)).toBeGreaterThan(limits.formFileBytesMax);
    expect(bytesOf(valuesOf('large_client_header_buffers', site)[0]!.split(' ')[1]!)).toBeGreaterThanOrEqual(
      limits.headerBytesMax,
    );
    expect(Number.parseInt(valuesOf('keepalive_timeout', site)[0]!, 10) * 1000).toBeLessThan(limits.keepAliveMs);
    expect(valuesOf('proxy_set_header X-Forwarded-For', site)).toEqual(['$remote_addr']);
  });
});
