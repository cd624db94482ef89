/** Shrinks a failing request as long as it still fails, so that a report shows little besides the fault. */
import type { Condition, OptionsSpec, PopulateSpec, Request, Test } from './request.js';
import { noOptions } from './request.js';

export const reduce = async (request: Request, fails: (request: Request) => Promise<boolean>): Promise<Request> => {
  let smallest = request;
  for (let triesLeft = 300; triesLeft > 0; ) {
    let found: Request | null = null;
    for (const candidate of smallerRequests(smallest)) {
      triesLeft -= 1;
      if (triesLeft < 0) break;
      if (await fails(candidate)) {
        found = candidate;
        break;
      }
    }
    if (!found) break;
    smallest = found;
  }
  return smallest;
};

const smallerRequests = (it: Request): readonly Request[] => [
  ...(it.page ? [{ ...it, page: null }] : []),
  ...(it.locale ? [{ ...it, locale: null }] : []),
  ...(it.search ? [{ ...it, search: null }] : []),
  ...(it.state ? [{ ...it, state: null }] : []),
  ...smallerOptions({ fields: it.fields, populate: it.populate, filter: it.filter, sort: it.sort, state: null }).map(
    ({ fields, populate, filter, sort }) => ({ ...it, fields, populate, filter, sort }),
  ),
  ...(it.fields === null || it.fields.length > 1 ? [{ ...it, fields: ['id'] }] : []),
];

const smallerOptions = (it: OptionsSpec): readonly OptionsSpec[] => [
  ...(it.fields ? [{ ...it, fields: null }] : []),
  ...(it.populate ? [{ ...it, populate: null }] : []),
  ...(it.filter ? [{ ...it, filter: null }] : []),
  ...(it.state ? [{ ...it, state: null }] : []),
  ...it.sort.map((_, i) => ({ ...it, sort: it.sort.filter((_key, j) => i !== j) })),
  ...(it.populate ? smallerPopulates(it.populate).map((populate) => ({ ...it, populate })) : []),
  ...(it.filter ? smallerConditions(it.filter).map((filter) => ({ ...it, filter })) : []),
];

const smallerPopulates = (it: PopulateSpec): readonly PopulateSpec[] => [
  ...(it.all && it.members.length > 0 ? [{ ...it, all: false }] : []),
  ...(it.members.length > 1 || it.all
    ? it.members.map((_, i) => ({ ...it, members: it.members.filter((_member, j) => i !== j) }))
    : []),
  ...it.members.flatMap((member, i) => {
    const smaller = [
      ...(member.fragments ? [{ ...member, fragments: null }] : []),
      ...smallerOptions(member.options).map((options) => ({ ...member, options })),
      ...[...(member.fragments ?? [])].flatMap(([uid, options]) => [
        ...(options === noOptions
          ? []
          : smallerOptions(options).map((smallerOne) => ({
              ...member,
              fragments: new Map([...member.fragments!, [uid, smallerOne]]),
            }))),
      ]),
    ];
    return smaller.map((replaced) => ({ ...it, members: it.members.map((old, j) => (i === j ? replaced : old)) }));
  }),
];

const smallerConditions = (it: Condition): readonly Condition[] => {
  switch (it.kind) {
    case 'all':
    case 'any':
      return [
        ...it.members,
        ...(it.members.length > 1
          ? it.members.map((_, i) => ({ ...it, members: it.members.filter((_member, j) => i !== j) }))
          : []),
        ...it.members.flatMap((member, i) =>
          smallerConditions(member).map((replaced) => ({
            ...it,
            members: it.members.map((old, j) => (i === j ? replaced : old)),
          })),
        ),
      ];
    case 'not':
      return [it.member, ...smallerConditions(it.member).map((member) => ({ ...it, member }))];
    case 'scalar':
      return smallerTests(it.test).map((test) => ({ ...it, test }));
    case 'related':
      return smallerConditions(it.member).map((member) => ({ ...it, member }));
  }
};

const smallerTests = (it: Test): readonly Test[] => {
  switch (it.kind) {
    case 'all':
    case 'any':
      return [
        ...it.members,
        ...it.members.flatMap((member, i) =>
          smallerTests(member).map((replaced) => ({
            ...it,
            members: it.members.map((old, j) => (i === j ? replaced : old)),
          })),
        ),
      ];
    case 'not':
      return [it.member, ...smallerTests(it.member).map((member) => ({ ...it, member }))];
    case 'compare':
      return it.terms.length > 1 && it.operator !== '$between'
        ? it.terms.map((term) => ({ ...it, terms: [term] }))
        : [];
    case 'null':
      return [];
  }
};
