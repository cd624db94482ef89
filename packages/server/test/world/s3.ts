/** A real S3 server (s3rver) in this process with one bucket, behind a proxy that can fail. */
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Options } from '../../src/media/s3-store.js';
import { newFolder } from './folders.js';

export interface S3World {
  /** Of the bucket, through the proxy. */
  readonly options: S3Options;
  /** Keys of all objects in order. */
  keys(): Promise<readonly string[]>;
  /** The headers and the text of an object. */
  object(key: string): Promise<{ readonly type: string; readonly disposition: string | null; readonly text: string }>;
  /** Whether a request fails, and how, from now on; null for none. The client repeats it, unless it is refused. */
  fail(how: ((method: string, path: string) => 'error' | 'refuse' | 'hang' | null) | null): void;
  close(): Promise<void>;
}

/** As far as it is used here; the package has no types. */
interface S3rver {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (
  options: Readonly<Record<string, unknown>>,
) => S3rver;

const BUCKET = 'museum';
/** The end of the names of its files that hold an object. */
const CONTENT = '._S3rver_object';
/** Those that s3rver knows. */
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

export const newS3World = async (): Promise<S3World> => {
  const directory = newFolder();
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: BUCKET }],
  });
  const { port } = await server.run();
  let how: Parameters<S3World['fail']>[0] = null;
  const proxy = http.createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const failure = how?.(method, url);
    if (failure === 'hang') return void request.resume();
    if (failure) {
      request.resume();
      const [status, code] = failure === 'error' ? [500, 'InternalError'] : [403, 'AccessDenied'];
      return void response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
    }
    const forwarded = http.request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const options: S3Options = {
    bucket: BUCKET,
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
    prefix: '',
    publicUrl: null,
    credentials,
  };
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials });
  return {
    options,
    // s3rver refuses signatures of requests for a bucket, so its folder is read
    keys: async () =>
      fs
        .readdirSync(path.join(directory, BUCKET), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith(CONTENT))
        .map((name) => name.slice(0, -CONTENT.length))
        .sort(),
    object: async (key) => {
      const it = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
      return {
        type: it.ContentType!,
        disposition: it.ContentDisposition ?? null,
        text: await it.Body!.transformToString(),
      };
    },
    fail: (given) => {
      how = given;
    },
    close: async () => {
      client.destroy();
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      await server.close();
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
};
