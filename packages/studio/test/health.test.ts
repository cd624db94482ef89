/** Health without a browser: what is worst comes first, and durations are read at a glance. */
import { expect, it } from 'vitest';
import { byFile, durationParts, shareOf, sortedChecks, summaryOf } from '../src/rooms/health/checks.js';

const check = (name: string, status: 'ok' | 'warning' | 'fault') => ({ name, status, message: '' });

it('faults come first, then warnings, each in the order of the server', () => {
  const checks = [check('a', 'ok'), check('b', 'warning'), check('c', 'fault'), check('d', 'warning')];
  expect(sortedChecks(checks).map((it) => it.name)).toEqual(['c', 'b', 'd', 'a']);
});

it('the summary is the worst of all; failed deliveries are a warning', () => {
  const webhook = { id: 1, name: '', url: '', isEnabled: true, events: [], waiting: 3, failed: 0, last: null };
  expect(summaryOf({ checks: [check('a', 'ok')], webhooks: [webhook] })).toBe('ok');
  expect(summaryOf({ checks: [check('a', 'ok')], webhooks: [{ ...webhook, failed: 1 }] })).toBe('warning');
  expect(summaryOf({ checks: [check('a', 'fault'), check('b', 'warning')], webhooks: [] })).toBe('fault');
});

it('what is kept is a share of all that was asked for', () => {
  expect([shareOf({ found: 0, made: 0 }), shareOf({ found: 2, made: 1 }), shareOf({ found: 5, made: 0 })]).toEqual([
    null,
    66,
    100,
  ]);
});

it('what is ignored is grouped by file', () => {
  const ignored = [
    { file: 'a', place: null, message: '1' },
    { file: 'b', place: 'x', message: '2' },
    { file: 'a', place: 'y', message: '3' },
  ];
  expect(byFile(ignored).map((it) => [it.file, it.notes.length])).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
});

it('a duration is its two largest units', () => {
  const texts = [0, 40, 60, 4_320, 90_000, 86_400].map((it) =>
    durationParts(it).map(({ value, unit }) => `${value} ${unit}`),
  );
  expect(texts).toEqual([['0 s'], ['40 s'], ['1 min'], ['1 h', '12 min'], ['1 d', '1 h'], ['1 d']]);
});
