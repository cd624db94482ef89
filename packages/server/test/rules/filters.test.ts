/**
 * Filters: every operator on every type that it supports, groups, negation, relations (FL4, FL3, FL17, RQ12, FL11,
 * RQ11, FL8, FL10, FL9).
 */
import { describe, expect, it } from 'vitest';
import { dialects, useWorld } from '../world/world.js';

type Row = readonly [query: string, expected: readonly number[]];

describe.each(dialects)('filters on %s', (dialect) => {
  const world = useWorld(dialect);
  const all = [1, 2, 3, 4, 5, 7, 8];
  const titled = [1, 2, 3, 4, 5, 7];

  const rows = (types: string, title: string, table: readonly Row[]): void => {
    it.each(table)(`${title}: %s is %j`, async (query, expected) => {
      const { data, meta } = await world.read(`/api/${types}?fields=id&${query}`);
      expect(data.map((it) => it.id)).toEqual(expected);
      expect(meta.pagination).toMatchObject({ total: expected.length });
    });
  };

  describe('text', () => {
    rows('films', 'FL1, FL2: equality is exact', [
      ['filters[title]=Éclair', [1]],
      ['filters[title][$eq]=Éclair', [1]],
      ['filters[title][$eq]=éclair', []],
      ['filters[title][$ne]=Éclair', [2, 3, 4, 5, 7]],
      ['filters[title][$eqi]=ÉCLAIR', [1]],
      ['filters[title][$eqi]=under_score', [4]],
      ['filters[title][$nei]=éCLAIR', [2, 3, 4, 5, 7]],
      ['filters[tagline]=', [2]],
      ['filters[tagline][$ne]=', [1, 4, 5, 8]],
      ['filters[title]=The Cat 😺', [7]],
      ['filters[title]=The+Cat+%F0%9F%98%BA', [7]],
      ['filters[tagline]=back%5Cslash', [4]],
    ]);
    rows('films', 'FL2: lists', [
      ['filters[title][$in][0]=Éclair&filters[title][$in][1]=under_score', [1, 4]],
      ['filters[title][$in]=Éclair', [1]],
      // list members without a value match no row
      ['filters[title][$in]', []],
      ['filters[title][$in][0]', []],
      ['filters[title][$in][0]&filters[title][$in][1]=Éclair', [1]],
      ['filters[title][$notIn][0]&filters[title][$notIn][1]=Éclair', []],
      ['filters[title][0]=Éclair&filters[title][1]=under_score', [1, 4]],
      ['filters[title]=Éclair&filters[title]=under_score', [1, 4]],
      ['filters[title][$notIn][0]=Éclair&filters[title][$notIn][1]=under_score', [2, 3, 5, 7]],
      // commas do not separate values
      ['filters[tagline][$in]=A pastry, a storm', [1]],
      ['filters[title][$in]=Éclair,under_score', []],
    ]);
    rows('films', 'FL2: order', [
      ['filters[title][$lt]=e', [3, 7]],
      ['filters[title][$lte]=100%25 Wool', [3]],
      ['filters[title][$gt]=under_score', [1, 2]],
      ['filters[title][$gte]=under_score', [1, 2, 4]],
      ['filters[title][$between][0]=a&filters[title][$between][1]=v', [4, 5]],
      ['filters[title][$between]=a&filters[title][$between]=v', [4, 5]],
      ['filters[title][$between][0]=v&filters[title][$between][1]=a', []],
    ]);
    rows('films', '$contains and its kin are case-sensitive and take % _ \\ as they are (FL9)', [
      ['filters[title][$contains]=clair', [1, 2]],
      ['filters[title][$contains]=Clair', []],
      ['filters[title][$contains]=É', [1]],
      ['filters[title][$contains]=_', [4]],
      ['filters[title][$contains]=%25', [3]],
      ['filters[title][$contains]=😺', [7]],
      ['filters[tagline][$contains]=%5C', [4]],
      ['filters[tagline][$contains]=back%5C', [4]],
      ['filters[title][$notContains]=clair', [3, 4, 5, 7]],
      ['filters[title][$notContains]=_', [1, 2, 3, 5, 7]],
      ['filters[title][$startsWith]=é', [2]],
      ['filters[title][$startsWith]=E', []],
      ['filters[title][$startsWith]=under_', [4]],
      ['filters[title][$startsWith]=100%25', [3]],
      ['filters[title][$endsWith]=score', [4, 5]],
      ['filters[title][$endsWith]=_score', [4]],
      ['filters[title][$endsWith]=😺', [7]],
      ['filters[tagline][$endsWith]=%25', [5]],
      ['filters[tagline][$endsWith]=%5C', []],
      // longer than every text
      [`filters[title][$endsWith]=${'x'.repeat(60)}`, []],
    ]);
    rows('films', 'the i-variants fold the letters of every script (FL9)', [
      ['filters[title][$containsi]=ÉCLAIR', [1, 2]],
      ['filters[title][$containsi]=éclair', [1, 2]],
      ['filters[title][$containsi]=eclair', []],
      ['filters[title][$containsi]=UNDER_', [4]],
      ['filters[title][$containsi]=WOOL', [3]],
      ['filters[title][$notContainsi]=ÉCLAIR', [3, 4, 5, 7]],
      ['filters[title][$startsWithi]=É', [1, 2]],
      ['filters[title][$startsWithi]=É_', []],
      ['filters[title][$endsWithi]=SCORE', [4, 5]],
      ['filters[title][$endsWithi]=_SCORE', [4]],
    ]);
    it.each([
      ['ЯЩИК', 'ящик'],
      ['Ωμέγα', 'ΩΜΈΓΑ'],
      ['İstanbul', 'İSTANBUL'],
      ['straße', 'STRAẞE'],
    ])('the case-insensitive operators find %s by %s', async (stored, asked) => {
      await world.update('reels', 2, 'remark', stored);
      for (const operator of ['$eqi', '$containsi', '$startsWithi', '$endsWithi'])
        expect(await world.ids(`/api/reels?filters[remark][${operator}]=${asked}`)).toEqual([2]);
      await world.update('reels', 2, 'remark', null);
    });

    // final sigma has its own letter
    it.each(['$containsi', '$endsWithi'])('%s finds what its exact counterpart finds', async (operator) => {
      await world.update('reels', 5, 'remark', 'ΟΔΟΣ');
      expect(await world.ids(`/api/reels?filters[remark][${operator.slice(0, -1)}]=Σ`)).toEqual([5]);
      expect(await world.ids(`/api/reels?filters[remark][${operator}]=Σ`)).toEqual([5]);
    });

    rows('films', 'an empty text is part of every text', [
      ['filters[title][$contains]=', titled],
      ['filters[title][$startsWith]=', titled],
      ['filters[title][$endsWith]=', titled],
      ['filters[title][$notContains]=', []],
    ]);
    rows('reels', 'the other text types', [
      ['filters[remark][$contains]=two%0Alines', [1]],
      ['filters[report][$startsWith]=%23', [1]],
      ['filters[condition]=mint', [1]],
      ['filters[condition]=unknown', []],
      ['filters[condition][$in][0]=mint&filters[condition][$in][1]=worn', [1, 3]],
      ['filters[condition][$containsi]=MIN', [1]],
      ['filters[contact][$endsWith]=@example.org', [1]],
      ['filters[contact][$eqi]=A@EXAMPLE.ORG', [1]],
      ['filters[barcode][$startsWith]=reel-', [1, 3, 4, 5]],
      ['filters[barcode]=reel-4', [4]],
      ['filters[label]=', [2]],
    ]);
  });

  describe('numbers', () => {
    rows('films', 'integer', [
      ['filters[year]=1920', [2, 4]],
      ['filters[year][$eq]=1920', [2, 4]],
      ['filters[year][$ne]=1920', [1, 3, 5, 8]],
      ['filters[year][$in][0]=1911&filters[year][$in][1]=-44', [1, 3]],
      ['filters[year][$notIn][0]=1911&filters[year][$notIn][1]=-44', [2, 4, 5, 8]],
      ['filters[year][$lt]=0', [3]],
      ['filters[year][$lte]=-44', [3]],
      ['filters[year][$gt]=1920', [5, 8]],
      ['filters[year][$gte]=1920', [2, 4, 5, 8]],
      ['filters[year][$gt]=1919&filters[year][$lt]=1931', [2, 4]],
      ['filters[year][$between][0]=1911&filters[year][$between][1]=1920', [1, 2, 4]],
      ['filters[year][$between][0]=1920&filters[year][$between][1]=1911', []],
      // number texts as v4 reads them
      ['filters[year]=%201920%20', [2, 4]],
      ['filters[year]=1.92e3', [2, 4]],
      ['filters[year]=0x780', [2, 4]],
      ['filters[year]=01920', [2, 4]],
    ]);
    rows('films', 'numbers that an integer column cannot hold match nothing and compare as numbers (FL10)', [
      ['filters[year]=1920.5', []],
      ['filters[year]=99999999999', []],
      ['filters[year][$ne]=99999999999', [1, 2, 3, 4, 5, 8]],
      ['filters[year][$lt]=99999999999', [1, 2, 3, 4, 5, 8]],
      ['filters[year][$gt]=-99999999999', [1, 2, 3, 4, 5, 8]],
      ['filters[year][$gt]=1919.5', [2, 4, 5, 8]],
      ['filters[year][$in][0]=1911&filters[year][$in][1]=0.5', [1]],
      ['filters[id]=1.5', []],
      ['filters[id]=9007199254740993', []],
      ['filters[director]=9007199254740993', []],
    ]);
    rows('films', 'decimal', [
      ['filters[score]=7.5', [1, 8]],
      ['filters[score]=7.50', [1, 8]],
      ['filters[score][$gt]=7.5', [2]],
      ['filters[score][$lt]=0', [5]],
      ['filters[score][$between][0]=-2&filters[score][$between][1]=0', [4, 5]],
      ['filters[score][$ne]=7.5', [2, 4, 5]],
      ['filters[score][$in][0]=0&filters[score][$in][1]=8.25', [2, 4]],
    ]);
    rows('reels', 'float and decimal', [
      ['filters[length]=1.5', [1]],
      ['filters[length]=-0.25', [3]],
      ['filters[length]=0.1', [4]],
      ['filters[length][$lte]=0', [3, 5]],
      ['filters[price]=0.1', [4]],
      ['filters[price]=12.50', [1]],
      ['filters[price][$lt]=-99999.98', [3]],
    ]);
    rows('reels', 'FL16: biginteger compares every digit', [
      ['filters[bytes]=9007199254740993', [1]],
      ['filters[bytes]=9007199254740992', []],
      ['filters[bytes][$gt]=9007199254740992', [1, 4]],
      ['filters[bytes][$gt]=9007199254740993', [4]],
      ['filters[bytes][$lt]=0', [3]],
      ['filters[bytes]=-9223372036854775808', [3]],
      ['filters[bytes][$in][0]=9223372036854775807&filters[bytes][$in][1]=0', [4, 5]],
      ['filters[bytes][$between][0]=0&filters[bytes][$between][1]=9007199254740993', [1, 5]],
      ['filters[bytes][$ne]=0', [1, 3, 4]],
      ['filters[bytes]=000', [5]],
    ]);
    rows('reels', 'biginteger beyond 64 bits', [
      ['filters[bytes]=9223372036854775808', []],
      ['filters[bytes][$lt]=9223372036854775808', [1, 3, 4, 5]],
      ['filters[bytes][$gt]=-9223372036854775809', [1, 3, 4, 5]],
      ['filters[bytes][$gte]=99999999999999999999', []],
    ]);
    rows('films', 'id', [
      ['filters[id]=3', [3]],
      ['filters[id][$in][0]=3&filters[id][$in][1]=1', [1, 3]],
      ['filters[id][0]=3&filters[id][1]=1', [1, 3]],
      ['filters[id][$gt]=5', [7, 8]],
      ['filters[id][$notNull]=true', all],
    ]);
  });

  describe('boolean, dates, JSON', () => {
    rows('reels', 'boolean', [
      ['filters[nitrate]=true', [1, 4]],
      ['filters[nitrate]=t', [1, 4]],
      ['filters[nitrate]=1', [1, 4]],
      ['filters[nitrate]=false', [3, 5]],
      ['filters[nitrate]=f', [3, 5]],
      ['filters[nitrate]=0', [3, 5]],
      ['filters[nitrate][$ne]=true', [3, 5]],
      ['filters[nitrate][$in][0]=true&filters[nitrate][$in][1]=false', [1, 3, 4, 5]],
      ['filters[nitrate][$null]=true', [2]],
    ]);
    rows('reels', 'date', [
      ['filters[recordedOn]=1911-02-28', [1]],
      ['filters[recordedOn]=1911-02-28T23:59:59.000Z', [1]],
      ['filters[recordedOn][$lt]=1900-01-01', [3]],
      ['filters[recordedOn][$gte]=1911-02-28', [1, 4]],
      ['filters[recordedOn][$ne]=1911-02-28', [3, 4]],
      ['filters[recordedOn][$in][0]=1911-02-28&filters[recordedOn][$in][1]=2024-02-29', [1, 4]],
      ['filters[recordedOn][$between][0]=0999-12-31&filters[recordedOn][$between][1]=1911-02-28', [1, 3]],
    ]);
    rows('reels', 'time', [
      ['filters[startsAt]=10:20:30.123', [1]],
      ['filters[startsAt]=01:30:00', [3]],
      ['filters[startsAt]=01:30:00.0', [3]],
      ['filters[startsAt][$gt]=10:20:30.12', [1, 4]],
      ['filters[startsAt][$lte]=10:20:30.123', [1, 3]],
      ['filters[startsAt][$ne]=01:30:00', [1, 4]],
    ]);
    rows('reels', 'datetime', [
      ['filters[receivedAt]=2023-11-14T22:13:20.123Z', [1]],
      ['filters[receivedAt]=2023-11-14 22:13:20.123Z', [1]],
      ['filters[receivedAt]=2023-11-14T23:13:20.123%2B01:00', [1]],
      ['filters[receivedAt]=1700000000123', [1]],
      ['filters[receivedAt]=2023-11-14T22:13:20Z', []],
      ['filters[receivedAt][$lt]=1970-01-01T00:00:00.000Z', [3]],
      ['filters[receivedAt][$lte]=0', [3, 5]],
      ['filters[receivedAt][$gt]=2023-11-14T22:13:20.123Z', [4]],
      ['filters[receivedAt][$lt]=%2B012345-01-01T00:00:00Z', [1, 3, 4, 5]],
      [
        'filters[receivedAt][$between][0]=1969-01-01T00:00:00Z&filters[receivedAt][$between][1]=2023-12-01T00:00:00Z',
        [1, 3, 5],
      ],
      ['filters[createdAt]=2023-11-14T22:13:20.000Z', [1, 2, 3, 4, 5]],
      ['filters[updatedAt][$lt]=2023-11-14T22:14:20.000Z', []],
    ]);
    rows('reels', 'timestamp', [
      ['filters[scannedAt]=1709251200000', [1]],
      ['filters[scannedAt]=2024-03-01T00:00:00.000Z', [1]],
      ['filters[scannedAt][$lte]=0', [3, 4]],
      ['filters[scannedAt][$ne]=0', [1, 3]],
    ]);
    rows('reels', 'json', [
      ['filters[metadata]=text', [3]],
      ['filters[metadata][$eq]=text', [3]],
      // the JSON string "5" is not the number 5
      ['filters[metadata]=5', []],
      ['filters[metadata][$ne]=text', [1, 4, 5]],
      ['filters[metadata][$null]=true', [2]],
      ['filters[keywords][$notNull]=true', [1, 3]],
      ['filters[transcript][$null]=false', [1]],
    ]);
    rows('films', 'FL15: $null and $notNull', [
      ['filters[title][$null]=true', [8]],
      ['filters[title][$null]=1', [8]],
      ['filters[title][$null]=false', titled],
      ['filters[title][$notNull]=true', titled],
      ['filters[title][$notNull]=f', [8]],
      ['filters[year][$null]=true', [7]],
      // NULL
      ['filters[title]', [8]],
      ['filters[title][$eq]', [8]],
      ['filters[title][$ne]', titled],
    ]);
  });

  describe('several values and groups', () => {
    rows('films', 'several values of a negative operator are joined by AND (FL8)', [
      ['filters[title][$ne][0]=Éclair&filters[title][$ne][1]=under_score', [2, 3, 5, 7]],
      ['filters[title][$ne]=Éclair&filters[title][$ne]=under_score', [2, 3, 5, 7]],
      ['filters[title][$nei][0]=ÉCLAIR&filters[title][$nei][1]=UNDER_SCORE', [2, 3, 5, 7]],
      ['filters[title][$notContains][0]=clair&filters[title][$notContains][1]=_', [3, 5, 7]],
      ['filters[title][$notContainsi][0]=CLAIR&filters[title][$notContainsi][1]=_', [3, 5, 7]],
      ['filters[year][$ne][0]=1911&filters[year][$ne][1]=1920', [3, 5, 8]],
    ]);
    rows('films', 'several values of any other operator are joined by OR', [
      ['filters[title][$contains][0]=lune&filters[title][$contains][1]=Cat', [2, 7]],
      ['filters[title][$startsWith][0]=É&filters[title][$startsWith][1]=é', [1, 2]],
      ['filters[title][$eq][0]=Éclair&filters[title][$eq][1]=under_score', [1, 4]],
      ['filters[year][$gt][0]=1940&filters[year][$gt][1]=1930', [5, 8]],
    ]);
    rows('films', 'groups', [
      ['filters[$or][0][year]=1911&filters[$or][1][title][$contains]=Cat', [1, 7]],
      ['filters[$and][0][year]=1920&filters[$and][1][title][$contains]=_', [4]],
      ['filters[year]=1920&filters[title][$contains]=_', [4]],
      [
        'filters[$or][0][$and][0][year]=1920&filters[$or][0][$and][1][score]=0&filters[$or][1][$or][0][id]=7&filters[$or][1][$or][1][id]=8',
        [4, 7, 8],
      ],
      ['filters[$or][0][year]=1920&filters[$or][1][year]=1911&filters[score][$gt]=7', [1, 2]],
      ['filters[$or][0][year]=1920', [2, 4]],
      ['filters[$or][][year]=1911&filters[$or][][id]=7', [1, 7]],
      // a list as a member of a group is joined by AND
      ['filters[$or][0][year]=1911&filters[$or][1][0][year]=1920&filters[$or][1][1][title][$contains]=_', [1, 4]],
      ['filters[$and][0][0][year]=1920&filters[$and][0][1][title]=under_score', [4]],
      ['filters[$or][0][0][$or][0][year]=1920&filters[$or][0][1][0][title]=under_score&filters[$or][1][id]=7', [4, 7]],
      // groups under an attribute (FL4)
      ['filters[title][$or][0][$contains]=lune&filters[title][$or][1][$eq]=Éclair', [1, 2]],
      ['filters[title][$and][0][$contains]=under&filters[title][$and][1][$contains]=X', [5]],
      ['filters', all],
    ]);
    rows('films', 'negation', [
      ['filters[$not][year]=1920', [1, 3, 5, 8]],
      ['filters[title][$not]=Éclair', [2, 3, 4, 5, 7]],
      ['filters[title][$not][$contains]=clair', [3, 4, 5, 7]],
      ['filters[title][$not][$null]=true', titled],
      ['filters[title][$not][$not]=Éclair', [1]],
      ['filters[$not][$or][0][year]=1920&filters[$not][$or][1][year]=1911', [3, 5, 8]],
      ['filters[$not][$and][0][year]=1920&filters[$not][$and][1][title][$contains]=_', [1, 2, 3, 5, 7, 8]],
      // a list is negated as the AND of its members
      ['filters[$not][0][year]=1920&filters[$not][1][title]=under_score', [1, 2, 3, 5, 7, 8]],
      ['filters[year][$not][$between][0]=1900&filters[year][$not][$between][1]=1925', [3, 5, 8]],
      ['filters[year][$not][$in][0]=1911&filters[year][$not][$in][1]=1920', [3, 5, 8]],
      ['filters[$not][$not][year]=1920', [2, 4]],
    ]);
  });

  describe('relations', () => {
    rows('films', 'FL6: a value is compared with the related id', [
      ['filters[director]=1', [1, 2, 4]],
      ['filters[director][$eq]=1', [1, 2, 4]],
      ['filters[director][id]=1', [1, 2, 4]],
      ['filters[director][$in][0]=1&filters[director][$in][1]=99', [1, 2, 4]],
      ['filters[director][0]=1&filters[director][1]=99', [1, 2, 4]],
      ['filters[director][$ne]=2&filters[id][$ne]=5', [1, 2, 4]],
      ['filters[director][$gt]=0&filters[director][$lt]=2', [1, 2, 4]],
      ['filters[genres]=2', [1, 3]],
      ['filters[genres][$in][0]=5&filters[genres][$in][1]=2', [1, 3]],
      ['filters[credit]=1', [1]],
      ['filters[poster]=1', [1]],
    ]);
    rows('films', 'attributes of related entries, any number of steps', [
      ['filters[director][name]=Bo', [3, 5]],
      ['filters[director][name][$startsWith]=Zo', [1, 2, 4]],
      ['filters[genres][name]=Drama', [1, 2, 3]],
      ['filters[reels][frames][$gt]=0', [1]],
      ['filters[remakeOf][title]=Éclair', [2, 3]],
      ['filters[remakes][year]=1920', [1]],
      ['filters[influences][id]=1', [1, 3]],
      ['filters[influenced][id]=3', [1]],
      ['filters[director][mentor][name][$startsWith]=Zo', [3, 5]],
      ['filters[director][pupils][mentor][pupils][name]=Bo', [1, 2, 4]],
      ['filters[episodes][director][name][$startsWith]=Zo', [5]],
    ]);
    rows('films', 'operators beside attributes (FL4)', [
      ['filters[director][$eq]=1&filters[director][name][$startsWith]=Zo', [1, 2, 4]],
      ['filters[director][$eq]=1&filters[director][name]=Bo', []],
      ['filters[genres][$ne]=1&filters[genres][order]=1', [1, 3]],
    ]);
    rows('films', 'FL5: to-many: some related entry meets the condition; one object is about one related entry', [
      ['filters[genres][name]=Drama&filters[genres][order]=1', []],
      ['filters[genres][name]=Comedy&filters[genres][order]=1', [1, 3]],
      ['filters[$and][0][genres][name]=Drama&filters[$and][1][genres][order]=1', [1, 3]],
      ['filters[genres][$or][0][name]=Short&filters[genres][$or][1][name]=Comedy', [1, 3]],
      ['filters[genres][$and][0][name]=Drama&filters[genres][$and][1][order]=1', []],
      ['filters[genres][$or][0][0][name]=Comedy&filters[genres][$or][0][1][order]=1', [1, 3]],
      ['filters[genres][$or][0][0][name]=Drama&filters[genres][$or][0][1][order]=1', []],
      // inside a relation, a list of values is a list of ids
      ['filters[genres][$or][0][0]=1&filters[genres][$or][0][1]=99', [1, 2, 3]],
      // negative operators: some related entry differs
      ['filters[genres][name][$ne]=Drama', [1, 3]],
      ['filters[genres][name][$notContains]=o', [1, 2, 3]],
      ['filters[genres][$not][name]=Drama', [1, 3]],
      ['filters[$not][genres][name]=Drama', [1, 3]],
      ['filters[genres][$not][$in][0]=1&filters[genres][$not][$in][1]=2', [1]],
      ['filters[director][$not][name]=Bo&filters[id][$ne]=5', [1, 2, 4]],
    ]);
    rows('films', '$null through relations: has none', [
      ['filters[genres][$null]=true', [4, 5, 7, 8]],
      ['filters[genres][$null]=false', [1, 2, 3]],
      ['filters[genres][$notNull]=true', [1, 2, 3]],
      ['filters[genres][$notNull]=false', [4, 5, 7, 8]],
      ['filters[genres][id][$null]=true', [4, 5, 7, 8]],
      ['filters[director][$null]=true', [7, 8]],
      // there is only a draft, which does not count
      ['filters[remakeOf][$null]=true', [1, 4, 5, 7, 8]],
      ['filters[doubleBill][$notNull]=true', [2, 4]],
      ['filters[poster][$null]=true', [3, 4, 5, 7, 8]],
      ['filters[stills][$notNull]=true', [1]],
      // the component of film 3 is gone
      ['filters[credit][$null]=true', [3, 5, 7, 8]],
      ['filters[credit][$notNull]=true', [1, 2, 4]],
      ['filters[facts][$null]=true', [3, 4, 5, 7, 8]],
      ['filters[director][mentor][$null]=true&filters[id][$ne]=5', [1, 2, 4, 7, 8]],
      ['filters[director][mentor][$notNull]=true', [3, 5]],
    ]);
    rows('genres', 'FL7: $null of a related attribute: also entries without a related entry', [
      ['filters[children][order][$null]=true', [1, 2, 3, 5]],
      ['filters[children][order][$notNull]=true', [1]],
      ['filters[parent][name][$null]=true', [1, 5]],
    ]);
    rows('films', 'FL12: components and media are filtered like relations', [
      ['filters[credit][role]=Auteur', [1]],
      ['filters[credit][role][$null]=true&filters[credit][$notNull]=true', [2]],
      ['filters[credit][billing][$gte]=1', [1, 2, 4]],
      ['filters[facts][text]=beta', [1]],
      ['filters[facts][source][title]=éclair de lune', [1]],
      // a row of another component in the same attribute does not count
      ['filters[facts][text]=Light!', []],
      ['filters[credit][awards][title]=Gold', [1]],
      ['filters[credit][awards][citation][text]=For light', [1]],
      ['filters[credit][awards][jury][name]=émile', [1]],
      ['filters[credit][awards][title]=Gold&filters[credit][awards][year]=1912', []],
      ['filters[credit][awards][citation][scan][name]=scan.pdf', [1]],
      ['filters[poster][name]=poster.png', [1]],
      ['filters[stills][name][$startsWith]=scan', [1]],
      ['filters[stills][size][$lt]=6', [1]],
    ]);
    rows('programmes', 'every relation kind, from the side of programmes', [
      ['filters[opener][title]=Éclair', [4]],
      ['filters[gala][title]=100%25 Wool', [4]],
      ['filters[strand][title]=Éclair', [1]],
      ['filters[cycleFilms][title]=Éclair', [1]],
      ['filters[closing][title]=Éclair', [4]],
      ['filters[keynote][title]=Éclair', [4]],
      ['filters[extras][title]=éclair de lune', [1]],
      ['filters[lineup][title]=Éclair', [1]],
      ['filters[backup][title]=Éclair', [4]],
      ['filters[backup][$null]=true', [1, 3]],
      ['filters[backup]=1', [4]],
    ]);
    rows('films', 'every relation kind, from the side of films', [
      ['filters[galaOf][name]=Matinée', [3]],
      ['filters[cycle][name]=Opening Night', [1, 2]],
      ['filters[keynoteOf][name]=Matinée', [1]],
      ['filters[programmes][name]=Opening Night', [1, 3]],
      ['filters[backupOf][name]=Matinée', [1]],
      ['filters[backupOf][$notNull]=true', [1]],
      ['filters[answerTo][title]=Éclair', [2]],
      ['filters[similar][title]=underXscore', [1, 2]],
    ]);

    it('FL13: list rows are distinct, and total counts distinct entries', async () => {
      const { data, meta } = await world.read('/api/films?fields=id&filters[genres][order][$gt]=0&sort=genres.name');
      expect([...data.map((it) => it.id)].sort()).toEqual([1, 2, 3]);
      expect(meta.pagination).toMatchObject({ total: 3 });
    });
  });

  describe('refused', () => {
    it.each([
      // FL3
      ['films', '[title][$nope]=x', null, '"$nope" is not a filter operator'],
      ['films', '[title][$EQ]=x', null, 'Did you mean "$eq"?'],
      ['films', '[title][eq]=x', null, 'Did you mean "$eq"?'],
      ['films', '[title][$contain]=x', null, 'Did you mean "$contains"?'],
      ['films', '[title][foo]=x', null, '"foo" is not a filter operator'],
      ['films', '[title][foo][bar]=x', '[title][foo]', '"foo" is not a filter operator'],
      ['films', '[title][$eq][foo]=x', '[title][$eq]', 'expected a single value'],
      ['films', '[title][$contains][x]=y', '[title][$contains]', 'expected a single value'],
      ['films', '[title][$in][a]=y', '[title][$in]', 'expected a single value'],
      ['films', '[title][$jsonSupersetOf]=y', null, 'is not a filter operator'],
      ['films', '[director][name][$foo]=x', null, '"$foo" is not a filter operator'],
      ['films', '[director][$foo]=x', null, '"$foo" is not a filter operator'],
      ['films', '[director][$eq][a]=1', '[director][$eq]', 'expected a single value'],
      ['films', '[year][$between][a]=1', '[year][$between]', 'expected a single value'],
      ['reels', '[metadata][i]=x', null, '"i" is not a filter operator'],
      ['films', '[$or][0][title][$nope]=x', null, '"$nope" is not a filter operator'],
      ['films', '[$nor][0][title]=x', '[$nor]', '"$nor" is not a filter operator. Did you mean "$or"?'],
      // FL11, RQ11
      ['films', '[titel]=x', null, 'film has no attribute "titel". Did you mean "title"?'],
      ['films', '[Title]=x', null, 'Did you mean "title"?'],
      ['films', '[created_at]=x', null, 'Did you mean "createdAt"?'],
      ['films', '[director][nme]=x', null, 'person has no attribute "nme". Did you mean "name"?'],
      ['films', '[constructor]=x', null, 'film has no attribute "constructor"'],
      ['films', '[hasOwnProperty]=x', null, 'film has no attribute "hasOwnProperty"'],
      ['films', '[__proto__][title]=x', '[__proto__]', 'film has no attribute "__proto__"'],
      ['films', '[title][__proto__]=x', null, '"__proto__" is not a filter operator'],
      ['reels', '[publishedAt][$notNull]=true', '[publishedAt]', 'reel has no attribute "publishedAt"'],
      // FL10
      ['films', '[title][$null]', null, 'expected a single value'],
      ['films', '[title][$null]=xx', null, '"xx" is not a boolean'],
      ['films', '[title][$notNull]=', null, '"" is not a boolean'],
      ['films', '[genres][$null]=maybe', null, '"maybe" is not a boolean'],
      ['films', '[year]=', null, '"" is not a number'],
      ['reels', '[nitrate]=yes', null, '"yes" is not a boolean'],
      ['reels', '[nitrate]=', null, '"" is not a boolean'],
      // FL4
      ['films', '=', null, 'expected an object'],
      ['films', '=x', null, 'expected an object'],
      ['films', '[0][title]=x', '', 'expected an object'],
      ['films', '[$and]=1', null, 'expected a list'],
      ['films', '[$or][title]=x', '[$or]', 'expected a list'],
      ['films', '[$or][0]=', null, 'expected an object'],
      ['films', '[$or][0][0]=x', '[$or][0]', 'expected an object'],
      ['films', '[$or][0][0][title]=x&filters[$or][0][1]=y', '[$or][0][1]', 'expected an object'],
      ['films', '[$or][0][0][nope]=x', '[$or][0][0][nope]', 'has no attribute'],
      ['films', '[$and][]=', '[$and][0]', 'expected an object'],
      ['films', '[$eq]=1', null, 'needs an attribute before it'],
      ['films', '[$not]=1', null, 'expected an object'],
      ['films', '[title]=x&filters[title][$eq]=y', '[title]', 'given both as a value and as an object'],
      // FL10
      ['films', '[year]=abc', null, '"abc" is not a number'],
      ['films', '[year][$gt]=abc', null, '"abc" is not a number'],
      ['films', '[year][$in][0]=abc', null, '"abc" is not a number'],
      ['films', '[year]=1e400', null, '"1e400" is not a number'],
      ['films', '[year][$between]=10', null, 'expected exactly two values'],
      [
        'films',
        '[year][$between][0]=1&filters[year][$between][1]=2&filters[year][$between][2]=3',
        '[year][$between]',
        'expected exactly two values',
      ],
      ['films', '[id]=abc', null, '"abc" is not a number'],
      ['films', '[id]=', null, '"" is not a number'],
      ['films', '[director]=abc', null, '"abc" is not a number'],
      ['reels', '[bytes]=abc', null, '"abc" is not a decimal integer'],
      ['reels', '[bytes]=1.5', null, '"1.5" is not a decimal integer'],
      // FL10
      ['films', '[id][$contains]=1', null, '$contains does not apply to attributes of type integer'],
      ['films', '[year][$startsWith]=19', null, '$startsWith does not apply to attributes of type integer'],
      ['films', '[year][$containsi]=19', null, '$containsi does not apply to attributes of type integer'],
      ['films', '[score][$endsWith]=5', null, '$endsWith does not apply to attributes of type decimal'],
      ['films', '[createdAt][$contains]=2023', null, '$contains does not apply to attributes of type datetime'],
      ['films', '[director][$contains]=1', null, '$contains does not apply'],
      ['reels', '[nitrate][$contains]=t', null, '$contains does not apply to attributes of type boolean'],
      ['reels', '[recordedOn][$notContains]=1', null, '$notContains does not apply to attributes of type date'],
      ['reels', '[startsAt][$eqi]=1', null, '$eqi does not apply to attributes of type time'],
      ['reels', '[scannedAt][$contains]=1', null, '$contains does not apply to attributes of type timestamp'],
      ['reels', '[bytes][$endsWithi]=1', null, '$endsWithi does not apply to attributes of type biginteger'],
      ['reels', '[metadata][$contains]=x', null, '$contains does not apply to attributes of type json'],
      ['reels', '[metadata][$in]=x', null, '$in does not apply to attributes of type json'],
      ['reels', '[metadata][$gt]=x', null, '$gt does not apply to attributes of type json'],
      // FL9
      ['films', '[title]=a%00b', null, 'NUL characters are not accepted'],
      // what cannot be filtered by (FL11)
      ['films', '[body][text]=x', '[body]', 'cannot filter by "body" of film'],
      ['films', '[aside][$null]=true', '[aside]', 'cannot filter by "aside" of film'],
      ['films', '[poster][related][id]=1', '[poster][related]', 'cannot filter by'],
      ['films', '[confidant][name]=x', '[confidant]', '"confidant" of film is not available'],
      ['films', '[credit][note]=x', null, '"note" of people.credit is not available'],
      ['films', '[director][diary]=x', null, '"diary" of person is not available'],
      ['films', '[poster][folderPath]=/', null, '"folderPath" of file is not available'],
      ['people', '[pin]=x', null, '"pin" of person is not available'],
      ['people', '[updatedAt][$null]=true', '[updatedAt]', '"updatedAt" of person is not available'],
    ])('%s?filters%s', async (types, rest, place, words) => {
      const at = `filters${place === null ? rest.slice(0, rest.lastIndexOf(']') + 1) : place}`;
      const refusal = await world.refusal(`/api/${types}?filters${rest}`);
      expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
      expect(refusal.message).toContain(`Invalid parameter ${at}: `);
      expect(refusal.message).toContain(words);
    });

    it.each([
      ['[recordedOn]=x', 'Invalid format, expected yyyy-MM-dd'],
      ['[recordedOn]=2024-1-2', 'Invalid format, expected yyyy-MM-dd'],
      ['[recordedOn]=2024-02-30', 'Invalid date'],
      ['[recordedOn][$gt]=', 'Invalid format, expected yyyy-MM-dd'],
      ['[startsAt]=25:00:00', 'Invalid time format, expected HH:mm:ss.SSS'],
      ['[startsAt]=10:20', 'Invalid time format, expected HH:mm:ss.SSS'],
      ['[receivedAt]=zz', 'Invalid format, expected a timestamp or an ISO date'],
      ['[receivedAt][$lt]=2024-13-01T00:00:00Z', 'Invalid format, expected a timestamp or an ISO date'],
      ['[receivedAt]=99999999999999999', 'Invalid format, expected a timestamp or an ISO date'],
      ['[scannedAt]=', 'Invalid format, expected a timestamp or an ISO date'],
    ])('FL10, ER4: filters%s is refused with v4’s message "%s"', async (rest, words) => {
      const at = `filters${rest.slice(0, rest.lastIndexOf(']') + 1)}`;
      expect(await world.refusal(`/api/reels?filters${rest}`)).toEqual({
        status: 400,
        name: 'ValidationError',
        message: words,
        at,
        all: [at],
      });
    });
  });
});
