import { describe, expect, it } from 'vitest';
import { words } from '../src/words/index.js';

describe('the catalogue of texts', () => {
  const texts = (value: unknown, path: string): readonly (readonly [string, unknown])[] =>
    value !== null && typeof value === 'object'
      ? Object.entries(value).flatMap(([key, it]) => texts(it, `${path}.${key}`))
      : [[path, value]];

  it('holds texts and functions that make texts, and none is empty', () => {
    const wrong = texts(words, 'words').filter(
      ([, it]) => typeof it !== 'function' && (typeof it !== 'string' || it.trim() === ''),
    );
    expect(wrong).toEqual([]);
  });
});
