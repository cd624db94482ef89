/**
 * Plans of queries that differ in values only: made from the plan of one of them, without resolving names again. Values are
 * parsed and checked as `resolveQuery` does it.
 */
import { scalarTypes } from '../model/attributes.js';
import { parseOperand } from '../query/filters.js';
import { operandKind } from '../query/operators.js';
import { boundsOf, otherPage } from '../query/page.js';
import type { ResolveContext } from '../query/resolve.js';
import type { DbValue } from '../sql/dialect.js';
import type { ReadPlan } from './plan.js';
import { operandsOf } from './plan-conditions.js';

/** Whether every blank of a template is nothing but a value of the plan. */
export const isFillable = ({ blanks }: ReadPlan, texts: readonly string[]): boolean => {
  if (!blanks) return false;
  const found = new Set([blanks.page, ...blanks.operands.flatMap((it) => it.blanks)]);
  return texts.every((_, blank) => found.has(blank));
};

/**
 * The plan with other texts in its blanks. Null if one of them is invalid or would be read by another statement, so that
 * the query has to be planned itself.
 */
export const fillPlan = (
  plan: ReadPlan,
  texts: readonly string[],
  context: Pick<ResolveContext, 'strict'>,
): ReadPlan | null => {
  if (!plan.blanks || texts.some((it) => it.includes('\0'))) return null;
  const values = plan.values.slice();
  for (const { attribute, operator, operands, blanks } of plan.blanks.operands) {
    const { kind, slot } = operands;
    const given: DbValue[] = [];
    for (const [i, blank] of blanks.entries()) {
      if (blank === null) {
        given.push(values[slot + i] ?? null);
        continue;
      }
      const parsed = parseOperand(attribute, texts[blank] ?? '', [], context);
      if (!parsed.ok) return null;
      given.push(parsed.value);
    }
    if (operandKind(operator, scalarTypes[attribute.type].column, given) !== kind) return null;
    for (const [i, value] of operandsOf(operator, given).entries()) values[slot + i] = value;
  }
  return plan.blanks.page === null ? { ...plan, values } : withPage({ ...plan, values }, texts[plan.blanks.page] ?? '');
};

const withPage = (plan: ReadPlan, text: string): ReadPlan | null => {
  const page = plan.page && otherPage(plan.page, text);
  const { slice } = plan.shape;
  if (!page || !slice) return null;
  const values = plan.values.slice();
  values[slice.offset] = boundsOf(page).offset;
  return { ...plan, values, page };
};
