/** How faults of the server are shown. */
import { describe, expect, it } from 'vitest';
import { namesPlace, placedFaults } from '../src/parts/Fault.js';

describe('the place of a fault', () => {
  it('is not said twice where the message begins with it', () => {
    expect(namesPlace('sections[0].text must be defined.', ['sections', '0', 'text'])).toBe(true);
    expect(namesPlace('title must be defined.', ['title'])).toBe(true);
    expect(namesPlace('Invalid parameter filters[autor][id]: unknown', ['filters', 'autor', 'id'])).toBe(true);
    expect(namesPlace('Invalid parameter sort: unknown', ['sort'])).toBe(true);
    expect(namesPlace('Invalid parameter filters[a]: unknown', ['filters', 'a', 'b'])).toBe(false);
    expect(namesPlace('titles are missing', ['title'])).toBe(false);
    expect(namesPlace('The key is unknown or has expired', ['key'])).toBe(false);
  });

  it('is not listed below a title that says it', () => {
    const fault = (message: string, ...path: readonly string[]) => ({
      path,
      message,
      name: 'ValidationError' as const,
      code: 'query.unknown-name' as const,
    });
    const unknown = 'Invalid parameter populate: article has no attribute "autor".';
    expect(placedFaults([fault(unknown, 'populate')], unknown)).toEqual([]);
    expect(placedFaults([fault('Not Found')], 'Not Found')).toEqual([]);
    expect(placedFaults([fault('It is taken.', 'slug')], 'It is taken.')).toHaveLength(1);
    expect(placedFaults([fault(unknown, 'populate'), fault('b', 'sort')], '2 errors occurred')).toHaveLength(2);
  });
});
