/** What code of a v4 project uses of Strapi that is not here, and how that is said. */
import { enumerated } from '../../errors.js';

export interface AbsentUse {
  /** `strapi.db.connection`, or the name of a module or a policy. */
  readonly what: string;
  /** Counted from 1. */
  readonly line: number;
  /** Where it stands in another file, which this one calls. */
  readonly file?: string;
}

/** Which other queries of v4 do not have. */
export const GROUPING = 'groupBy of db.query';

/** The form of v4 that is ended by hand: `const { commit } = await strapi.db.transaction()`. */
export const MANUAL_TRANSACTION = 'strapi.db.transaction() without a function';

/** A policy that is not here refuses the start. */
const throwsError = ({ what }: AbsentUse): boolean => !what.startsWith('admin::');

/** Whether code that gets there may catch the error, and go on. A query that is refused ends the request of a guard all the same. */
export const mayBeCaught = (use: AbsentUse): boolean => throwsError(use) && use.what !== GROUPING;

/** `strapi.db.connection on line 12 and strapi.fs on line 40 are not here`. */
export const describeUses = (uses: readonly AbsentUse[]): string => {
  const isFile = ({ what }: AbsentUse): boolean => what.startsWith('@strapi/strapi/');
  const isManual = ({ what }: AbsentUse): boolean => what === MANUAL_TRANSACTION;
  const members = uses.filter((it) => throwsError(it) && !isFile(it) && !isManual(it));
  return [
    described(members, ['is not here, and throws an error when used', 'are not here, and throw an error when used']),
    described(uses.filter(isManual), [`throws an error${withWork}`, `throw an error${withWork}`]),
    described(uses.filter(isFile), [`is a file ${ofStrapi}`, `are files ${ofStrapi}`]),
    described(
      uses.filter((it) => !throwsError(it)),
      [`is a policy ${ofPanel}`, `are policies ${ofPanel}`],
    ),
  ]
    .filter((it) => it !== '')
    .join('; ');
};

const withWork =
  ': give it one, strapi.db.transaction(async () => { … }), which commits at its end and rolls back if it throws';

const ofStrapi =
  "of Strapi's own package: without that the start is refused, and with it nothing in there knows this server";

const ofPanel =
  "of v4's admin panel, which is not here: the start refuses routes that name it, so remove it there, or name a policy of the project instead";

/** @param said what is said of one, and of several. */
const described = (uses: readonly AbsentUse[], said: readonly [one: string, several: string]): string => {
  const each = uses.map(({ what, line, file }) => `${what} on line ${line}${file === undefined ? '' : ` of ${file}`}`);
  return each.length === 0 ? '' : `${enumerated(each)} ${each.length === 1 ? said[0] : said[1]}`;
};
