/** A comparison in words, for the terminal. */
import { never } from '../errors.js';
import type { Uid } from '../model/model.js';
import type { Candidate } from './candidates.js';
import type { Change } from './changes.js';
import { type LeftOver, labelOf } from './leftovers.js';
import type { Comparison } from './plan.js';

export const inWords = (comparison: Comparison): string => {
  const { changes, undecided, tolerated, candidates, left, added } = comparison;
  const additions = [...added.tables.map((it) => `table ${it}`), ...added.columns.map((it) => `column ${it}`)];
  const sections = [
    section('To be done:', changes.map(describeChange)),
    section(
      'Not done, because values would be lost; to do it all the same:',
      undecided.flatMap((it) => [describeChange(it), ...convertOf(it)]),
    ),
    section(
      'Perhaps renamed; if so:',
      candidates.flatMap((it) => [describeCandidate(it), `  ${optionOf(it)}`]),
    ),
    section(
      'Stored differently than declared, and served as declared; to convert it to the column of a new project:',
      tolerated.flatMap((it) => [describeChange(it), `  --convert ${placeOf(it)}`]),
    ),
    section(
      'In no schema file, kept; to drop it:',
      left.flatMap((it) => [describeLeftOver(it), ...dropOf(it).map((option) => `  ${option}`)]),
    ),
    section('Added by the next start or sync:', additions),
  ].filter((it) => it !== '');
  return sections.length === 0 ? 'Model and database agree.\n' : sections.join('\n');
};

/** Repeated values cannot be made different here. */
const convertOf = (it: Change): readonly string[] =>
  it.change === 'require unique values' ? [] : [`  --convert ${placeOf(it)}`];

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `${title}\n${lines.map((it) => `  ${it}\n`).join('')}`;

/** `1 value`, `2 values`; `entry` becomes `entries`. */
export const countOf = (n: number, noun: string): string =>
  `${n} ${n === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

export const describeChange = (change: Change): string => {
  switch (change.change) {
    case 'rename type':
      return `${change.from} becomes ${change.to}`;
    case 'rename table':
      return `${change.type}: table ${change.from} becomes ${change.to}`;
    case 'rename attribute':
      return `${change.type}.${change.from} becomes ${change.to}`;
    case 'move links':
      return `${change.type}.${change.attribute} keeps ${countOf(change.links, 'link')} that were kept by the other side, in ${change.from}`;
    case 'convert attribute':
      return `${change.type}.${change.attribute}: from ${change.from} to ${change.to}; ${describeLosses(change)}`;
    case 'keep the first':
      return `${change.type}.${change.attribute} takes one: ${countOf(change.lost, 'further one')} would be lost, as the first of each entry stays`;
    case 'require unique values':
      return change.repeated === 0
        ? `${change.type}.${change.attribute} is a ${change.to}: its values stay different`
        : `${change.type}.${change.attribute} is a ${change.to}, but ${countOf(change.repeated, 'value')} are there already: change them first`;
    case 'allow repeated values':
      return `${change.type}.${change.attribute} is a ${change.to}: a value may occur more than once`;
    case 'drop attribute':
      return `${change.type}.${change.attribute} is dropped, with ${countOf(change.values, 'value')}`;
    case 'drop type':
      return `${change.type} is dropped, with ${countOf(change.entries, 'entry')}`;
    case 'drop table':
      return `table ${change.table} is dropped, with ${countOf(change.rows, 'row')}`;
    default:
      return never(change);
  }
};

const describeLosses = ({ values, lost, altered, ids }: Extract<Change, { change: 'convert attribute' }>): string => {
  if (lost + altered === 0) return values === 0 ? 'no values' : `${countOf(values, 'value')}, all kept`;
  const parts = [
    ...(lost > 0 ? [`${lost} would be lost`] : []),
    ...(altered > 0 ? [`${altered} would be rounded or cut`] : []),
  ];
  const more = lost + altered > ids.length ? ' …' : '';
  return `of ${countOf(values, 'value')} ${parts.join(' and ')} (id ${ids.join(', ')}${more})`;
};

/** `article.title` of `api::article.article`; other uids in full. */
const shortUid = (uid: Uid): string => {
  const [, api, name] = /^api::([^.]+)\.([^.]+)$/.exec(uid) ?? [];
  return api !== undefined && api === name ? api : uid;
};

const placeOf = (change: Change): string =>
  'type' in change && 'attribute' in change ? `${shortUid(change.type)}.${change.attribute}` : '';

export const describeCandidate = (it: Candidate): string =>
  it.kind === 'type'
    ? `${it.to} is new, and ${it.from} (${countOf(it.entries, 'entry')}) is gone`
    : `${it.type}: ${it.to} is new, and ${it.from} (${it.is}, ${countOf(it.values, 'value')}) is gone`;

export const optionOf = (it: Candidate): string =>
  it.kind === 'type' ? `--rename-type ${it.from}=${it.to}` : `--rename ${shortUid(it.type)}.${it.from}=${it.to}`;

const describeLeftOver = (it: LeftOver): string => {
  switch (it.kind) {
    case 'attribute': {
      const was = it.was === null ? '' : `${it.was}, `;
      return `${labelOf(it)} (${was}${countOf(it.values, 'value')}; ${it.place})`;
    }
    case 'type':
      return `${it.uid} (${countOf(it.entries, 'entry')}; table ${it.table})`;
    case 'table':
      return `table ${it.table} (${countOf(it.rows, 'row')})`;
    case 'column':
      return `column ${it.table}.${it.column}`;
    default:
      return never(it);
  }
};

const dropOf = (it: LeftOver): readonly string[] => {
  switch (it.kind) {
    case 'attribute':
      return [`--drop ${shortUid(it.type)}.${it.attribute}`];
    case 'type':
      return [`--drop ${it.uid}`];
    case 'table':
      return [`--drop-table ${it.table}`];
    case 'column':
      return [];
    default:
      return never(it);
  }
};
