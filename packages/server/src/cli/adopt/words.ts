/** All that `adopt` says about hazards and differences. */
import type { FoundHazard, Hazard, HazardCode } from './report.js';

interface Words {
  readonly weight: Hazard['weight'];
  /** What it is. */
  readonly message: (it: FoundHazard) => string;
  /** What Dovetail does with it. */
  readonly effect: string;
}

export const wordHazard = (found: FoundHazard): Hazard => {
  const { weight, message, effect } = hazardWords[found.code];
  return { ...found, weight, message: message(found), effect };
};

/** `1 row`, `2,041 rows`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** @param verb in the plural. */
const rows =
  (verb: string, what: string) =>
  ({ count, place }: FoundHazard): string =>
    `${counted(count, 'row')} of ${place} ${inflected(verb, count)} ${what}`;
const entries =
  (verb: string, what: string) =>
  ({ count, place }: FoundHazard): string =>
    `${place}: ${counted(count, 'entry', 'entries')} ${inflected(verb, count)} ${what}`;

const inflected = (verb: string, count: number): string => {
  if (count !== 1) return verb;
  return { are: 'is', have: 'has' }[verb] ?? `${verb}s`;
};

const skipped = 'They are not shown, and left alone.';

const hazardWords: Readonly<Record<HazardCode, Words>> = {
  'link.orphan': {
    weight: 'harmless',
    message: rows('lead', 'from or to an entry that is gone'),
    effect: skipped,
  },
  'link.duplicate': {
    weight: 'notice',
    message: ({ count, place }) => `${place}: ${counted(count, 'pair')} of entries linked more than once`,
    effect: 'Each is shown once. v4 cannot add its unique index to such a table, so an upgrade of v4 fails.',
  },
  'link.order-tie': {
    weight: 'harmless',
    message: ({ count, place }) => `${place}: ${counted(count, 'place')} in a list shared by several entries`,
    effect: 'They are shown in the order of their ids; the next change of such a list numbers it anew.',
  },
  'link.order-missing': {
    weight: 'harmless',
    message: rows('have', 'no place in their list, as after an upgrade or a new inversedBy'),
    effect: 'They are shown first on SQLite and last on PostgreSQL; the next change of such a list numbers it anew.',
  },
  'link.order-fraction': {
    weight: 'harmless',
    message: rows('have', 'a fraction as their place in a list'),
    effect: 'The order is kept; the next change of such a list numbers it anew.',
  },
  'link.to-one-many': {
    weight: 'notice',
    message: entries('have', 'several related entries where there can be one'),
    effect: 'The one with the least id is shown; the next write of the relation removes the others.',
  },
  'component.dangling': {
    weight: 'notice',
    message: entries('name', 'a component that is gone'),
    effect: 'It is not shown: a single component is null, a list is shorter.',
  },
  'component.orphan-entry': {
    weight: 'harmless',
    message: rows('belong', 'to an entry that is gone'),
    effect: skipped,
  },
  'component.removed-field': {
    weight: 'harmless',
    message: rows('belong', 'to an attribute that is in no schema file'),
    effect: skipped,
  },
  'component.other-type': {
    weight: 'notice',
    message: entries('hold', 'a component that the schema file does not allow there'),
    effect: 'It is not shown, where v4 may show the wrong one: v4 looks for its id in the table of the new component.',
  },
  'component.single-many': {
    weight: 'notice',
    message: entries('have', 'several components where there can be one'),
    effect: 'The first is shown; the next write of the attribute removes the others.',
  },
  'media.dangling-file': { weight: 'harmless', message: rows('name', 'a file that is gone'), effect: skipped },
  'media.dangling-entry': {
    weight: 'harmless',
    message: ({ count, place }) =>
      `files_related_morphs: ${counted(count, 'row')} ${inflected('lead', count)} to an entry of ${place} that is gone`,
    effect: skipped,
  },
  'media.removed-field': {
    weight: 'harmless',
    message: rows('belong', 'to an attribute or type that is in no schema file'),
    effect: skipped,
  },
  'media.not-on-disk': {
    weight: 'notice',
    message: ({ count }) =>
      `${counted(count, 'file')} of the media library, formats included, ${inflected('are', count)} not in public/uploads`,
    effect: 'Entries show them, and their URL is a 404. If they are elsewhere, copy them, or link the folder.',
  },
  'media.other-provider': {
    weight: 'notice',
    message: ({ count, example }) =>
      `${counted(count, 'file')} ${inflected('are', count)} kept by another service (${example})`,
    effect:
      'They are shown with their URLs. New uploads go to public/uploads or to S3, and deleting one leaves what the service holds.',
  },
  'morph.dangling': { weight: 'harmless', message: entries('lead', 'to an entry that is gone'), effect: skipped },
  'value.enumeration': {
    weight: 'notice',
    message: entries('hold', 'a value that the enumeration does not have'),
    effect: 'It is shown and can be filtered by. A write that leaves the attribute out keeps it; giving it is a 400.',
  },
  'value.json': {
    weight: 'notice',
    message: entries('hold', 'a text that is not JSON'),
    effect: 'It is shown as a string.',
  },
  'value.date': {
    weight: 'notice',
    message: entries('hold', 'a value that is no date or time'),
    effect: 'A date or time is shown as it is stored, a datetime and what is infinite as null.',
  },
  'value.date-as-text': {
    weight: 'harmless',
    message: entries('hold', 'a datetime as text, where v4 writes milliseconds'),
    effect: 'It is read, sorted and filtered as the datetime that it says.',
  },
  'value.number': {
    weight: 'notice',
    message: entries('hold', 'a value that is not a number of their type'),
    effect: 'It is shown as it is stored; giving it in a write is a 400.',
  },
  'value.boolean': {
    weight: 'notice',
    message: entries('hold', 'a value that is neither true nor false'),
    effect: 'It is shown as null.',
  },
  'value.too-long': {
    weight: 'notice',
    message: entries('hold', 'a text of more than 255 characters'),
    effect: 'It is shown whole. It does not fit the column on PostgreSQL, so giving it in a write is a 400.',
  },
  'value.required': {
    weight: 'harmless',
    message: entries('have', 'no value for a required attribute'),
    effect: 'null is shown. A write that leaves the attribute out is accepted; giving null is a 400.',
  },
  'value.not-unique': {
    weight: 'notice',
    message: ({ count, place }) => `${place}: ${counted(count, 'value')} held by several entries, though unique`,
    effect: 'They are shown. A write that gives such a value is a 400.',
  },
  'name.shortened': {
    weight: 'harmless',
    message: ({ count, place }) =>
      `${place}: ${counted(count, 'name')} of the table, its columns or indexes are longer than 63 characters`,
    effect: 'PostgreSQL has cut them, and they are found by the cut names.',
  },
  'column.other-type': {
    weight: 'notice',
    message: ({ place, example }) => `${place} is declared as ${example}`,
    effect: 'It is served as it is stored until the column is changed. `dovetail check` fails as long.',
  },
  'column.left-over': {
    weight: 'harmless',
    message: ({ place }) => `The column ${place} is in no schema file`,
    effect: 'It is left alone. v4 drops it when it next changes its tables.',
  },
  'table.left-over': {
    weight: 'harmless',
    message: ({ place, example }) => `The table ${place} (${example}) is in no schema file`,
    effect: 'It is left alone. v4 drops such tables when it next changes its own.',
  },
  'drafts.switched-off': {
    weight: 'notice',
    message: ({ place, count }) => `${place}: draftAndPublish is off, and the table holds ${counted(count, 'draft')}`,
    effect:
      'They stay hidden until `dovetail sync --publish-drafts` publishes them. v4 deletes them at its next start.',
  },
  'locale.none': {
    weight: 'notice',
    message: entries('have', 'no locale'),
    effect: 'Lists show them with locale=all only, as in v4.',
  },
  'locale.unknown': {
    weight: 'notice',
    message: entries('are', 'in a locale that does not exist any more'),
    effect: 'Lists show them with locale=all only.',
  },
  'locale.one-sided': {
    weight: 'notice',
    message: ({ count, place }) =>
      `${place}: ${counted(count, 'link')} between languages ${inflected('lead', count)} one way only`,
    effect: 'The entry without a link shows no localizations.',
  },
  'index.missing': {
    weight: 'notice',
    message: ({ place, count, ms = 0 }) =>
      `${place} has no index: each lookup reads ${counted(count, 'row')}, ${ms < 0.1 ? 'under 0.1' : ms.toFixed(1)} ms here, and well under 0.1 ms with one`,
    effect:
      'Populating and filtering by this relation is slower by that. Dovetail adds no index of v4 to an existing table.',
  },
  'sequence.behind': {
    weight: 'act',
    message: ({ place, example }) => `The sequence of ${place} is behind its table (${example}), as after an import`,
    effect: 'Each creation takes the next id, in v4 too, and fails (400 here) until those in use are passed.',
  },
  'sequence.missing': {
    weight: 'act',
    message: ({ place, example }) =>
      `${place} has no sequence (${example}), as after a conversion from another database`,
    effect: 'Creating entries fails, in v4 too, until it has one.',
  },
  trigger: {
    weight: 'notice',
    message: ({ place }) => `The table ${place} has triggers`,
    effect: 'They run as they do under v4. A write to it drops all cached responses, since it may change any table.',
  },
  'user.no-role': {
    weight: 'notice',
    message: rows('have', 'no role'),
    effect: 'They can log in, and may do nothing, as in v4.',
  },
  'user.same-email': {
    weight: 'notice',
    message: ({ count }) =>
      `${counted(count, 'e-mail address', 'e-mail addresses')} ${inflected('belong', count)} to several users`,
    effect: 'Logging in by it finds one of them.',
  },
  'user.hash': {
    weight: 'notice',
    message: rows('hold', 'a password that is no bcrypt hash'),
    effect: 'These users cannot log in, as in v4, until they reset it.',
  },
  'permission.unknown': {
    weight: 'harmless',
    message: rows('name', 'an action that is not served here, such as one of the project'),
    effect: 'They are kept, and allow nothing.',
  },
};
