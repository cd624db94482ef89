/** Words the faults of the configuration and the environment: what is expected, from the schema, and what was given. */
import { z } from 'zod';
import { orKnown } from '../errors.js';
import { mustBe } from '../model/schema.js';

type Place = Exclude<z.core.JSONSchema._JSONSchema, boolean>;

export interface ConfigFault {
  /** `api.rest.maxLimit`. */
  readonly place: string;
  /** The setting, what it must be and is, and what it is for. */
  readonly line: string;
}

export const describeConfigFaults = (
  schema: z.ZodType,
  given: unknown,
  faults: readonly z.core.$ZodIssue[],
): readonly ConfigFault[] => {
  const root = z.toJSONSchema(schema, { io: 'input' });
  return faults.flatMap((fault): readonly ConfigFault[] => {
    const path = fault.path.map(String);
    const place = path.reduce(placeAt, root);
    const where = path.length === 0 ? '' : `${path.join('.')}: `;
    if (fault.code === 'unrecognized_keys') {
      const known = Object.keys(place.properties ?? {});
      return fault.keys.map((it) => ({
        place: [...path, it].join('.'),
        line: `${where}there is no setting "${it}"${orKnown(it, known)}`,
      }));
    }
    // what may be chosen says enough
    const meaning = place.enum || place.description === undefined ? '' : `. ${place.description.replaceAll('`', '')}`;
    const line = `${where}${mustBe(expected(place), path.reduce(valueAt, given))}${meaning}`;
    return [{ place: path.join('.'), line }];
  });
};

/** Unions and elements of a list are described as a whole; all members of a record alike. */
const placeAt = (place: Place, key: string): Place => {
  const inner = place.properties?.[key] ?? place.additionalProperties;
  return typeof inner === 'object' ? inner : place;
};

const valueAt = (value: unknown, key: string): unknown => (value as Readonly<Record<string, unknown>>)[key];

const expected = (place: Place): string => {
  if (place.anyOf) return place.anyOf.map((it) => (typeof it === 'object' ? expected(it) : '')).join(' or ');
  if (place.const !== undefined) return JSON.stringify(place.const);
  if (place.enum) return place.enum.join(', ').replace(/, ([^,]*)$/, ' or $1');
  return [place.type]
    .flat()
    .map((type) => ofType(type, place))
    .join(' or ');
};

const ofType = (type: Place['type'], place: Place): string => {
  switch (type) {
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(place)}`;
    case 'number':
      return `a number${range(place)}`;
    case 'array':
      return 'a list of strings';
    case 'object':
      return 'an object';
    case 'null':
      return 'null';
    default:
      if (place.format === 'uri') return 'a URL such as "https://example.com"';
      return place.default === undefined ? 'a string' : `a string such as ${JSON.stringify(place.default)}`;
  }
};

const range = ({ minimum, maximum }: Place): string =>
  maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? ` from ${minimum} on`
    : ` from ${minimum} to ${maximum}`;
