/** Compressed bodies are those of the bytes that were given, whatever else the responses have in common. */
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { newCompressed } from '../../src/http/encodings.js';

describe('compressed bodies', () => {
  const bodies = ['one', 'two'].map((it) => Buffer.from(it.repeat(1000)));

  it.each(['br', 'gzip'] as const)(
    'are kept by their bytes, so that no response is sent in place of another: %s',
    async (encoding) => {
      const { encode } = newCompressed(1024 * 1024);
      const unpack = encoding === 'br' ? zlib.brotliDecompressSync : zlib.gunzipSync;
      const compressed = await Promise.all(bodies.map((it) => encode(it, encoding, true)));
      expect(compressed.map((it) => unpack(it))).toEqual(bodies);
      // kept: the same object, also for the same bytes elsewhere
      expect(encode(bodies[0]!, encoding, true)).toBe(compressed[0]);
      expect(encode(Buffer.from(bodies[1]!), encoding, true)).toBe(compressed[1]);
      expect(await encode(bodies[0]!, encoding, false)).not.toBe(compressed[0]);
    },
  );
});
