/** Uploads in a bucket of an S3-compatible service: v4's provider `aws-s3`. The client is loaded only where it is used. */
import { createReadStream, createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '../limits.js';
import { isShownInBrowsers } from './naming.js';
import type { Store } from './store.js';

export interface S3Options {
  readonly bucket: string;
  readonly region: string;
  /** URL of the service; null for that of AWS. */
  readonly endpoint: string | null;
  /** Whether the bucket is the first segment of the path instead of a part of the host. */
  readonly forcePathStyle: boolean;
  /** What keys begin with: `uploads/`. May be empty. */
  readonly prefix: string;
  /** Where anyone can read the objects, without the key; null if they are read by signed URLs. */
  readonly publicUrl: string | null;
  /** Null for what the AWS client finds: variables, profiles, roles of the machine. */
  readonly credentials: S3Credentials | null;
  /** Milliseconds; those of `limits` by default. */
  readonly bounds?: S3Bounds;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3Bounds {
  /** Until a connection is open. */
  readonly connectMsMax: number;
  /** Without any byte on a connection. */
  readonly stalledMsMax: number;
}

/** A package that the project must install. */
export class MissingPackage extends Error {}

const packages = '@aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner';

/** Throws `MissingPackage`. Does not connect. */
export const newS3Store = async (options: S3Options): Promise<Store> => {
  const { bucket, prefix, publicUrl, endpoint, credentials, bounds = defaultBounds } = options;
  const { S3Client, GetObjectCommand, DeleteObjectCommand, NoSuchKey, Upload, getSignedUrl } = await loadClient();
  const client = new S3Client({
    region: options.region,
    forcePathStyle: options.forcePathStyle,
    ...(endpoint === null ? {} : { endpoint }),
    ...(credentials === null ? {} : { credentials }),
    // the first attempt and one more
    maxAttempts: 2,
    requestHandler: { connectionTimeout: bounds.connectMsMax, socketTimeout: bounds.stalledMsMax },
    // checksums that some compatible services do not know; TLS and the signature protect the content
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const placeOf = (key: string) => ({ Bucket: bucket, Key: prefix + key });
  const linkTo = (key: string, now: number): Promise<string> => {
    // equal for a while, so that browsers and caches can use what they have fetched
    const period = limits.signedUrlPeriodMs;
    const signingDate = new Date(now - (now % period));
    const expiresIn = (2 * period) / 1000;
    return getSignedUrl(client, new GetObjectCommand(placeOf(key)), { signingDate, expiresIn });
  };
  return {
    provider: 'aws-s3',
    put: async (key, { path, mime }) => {
      const content = createReadStream(path);
      try {
        // in parts of 5 MB, each of which can be sent again; one by one, so that memory is bounded
        const upload = new Upload({
          client,
          queueSize: 1,
          params: {
            ...placeOf(key),
            Body: content,
            ContentType: mime,
            ...(isShownInBrowsers(mime) ? {} : { ContentDisposition: 'attachment' }),
          },
        });
        await upload.done();
      } finally {
        content.destroy();
      }
    },
    get: async (key, path) => {
      try {
        const { Body: content } = await client.send(new GetObjectCommand(placeOf(key)));
        await pipeline(content as Readable, createWriteStream(path));
        return true;
      } catch (fault) {
        if (fault instanceof NoSuchKey) return false;
        throw fault;
      }
    },
    remove: async (key) => {
      await client.send(new DeleteObjectCommand(placeOf(key)));
    },
    urlOf: (key) => (publicUrl === null ? `/uploads/${key}` : `${publicUrl.replace(/\/$/, '')}/${prefix}${key}`),
    ...(publicUrl === null ? { linkTo } : {}),
  };
};

const defaultBounds: S3Bounds = { connectMsMax: limits.storeConnectMsMax, stalledMsMax: limits.storeStalledMsMax };

const loadClient = async () => {
  try {
    const [client, { Upload }, { getSignedUrl }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
      import('@aws-sdk/s3-request-presigner'),
    ]);
    return { ...client, Upload, getSignedUrl };
  } catch (fault) {
    // the second is that of the bundle, which requires packages
    const absent = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];
    if (!absent.includes((fault as NodeJS.ErrnoException).code ?? '')) throw fault;
    throw new MissingPackage(`uploads in S3 need the AWS client: npm install ${packages}`);
  }
};
