/** Where a file goes on after an error that something in it has thrown: what it guards would be open to all. */
import type { CallExpression, Node, Statement } from 'estree';
import { bareNode, eachNode, isNamed, lastNameOf, lineOf, type Syntax, someNode } from './syntax.js';

/** The lines of what catches errors, in order. */
export const catchingLines = (syntax: Syntax): readonly number[] => {
  const lines = new Set<number>();
  const note = (node: Node): void => {
    lines.add(lineOf(node));
  };
  eachNode(syntax.program, (node) => {
    switch (node.type) {
      case 'CatchClause':
        if (!alwaysThrows(node.body) || goesOn(node.body)) note(node);
        break;
      case 'TryStatement':
        if (node.finalizer && returns(node.finalizer)) note(node.finalizer);
        break;
      case 'MemberExpression':
        if (lastNameOf(node, syntax) === 'catch') note(node.property);
        break;
      case 'CallExpression': {
        const callee = bareNode(node.callee);
        if (settles(node, syntax)) note(callee.type === 'MemberExpression' ? callee.property : node);
        break;
      }
    }
  });
  return [...lines].sort((a, b) => a - b);
};

/** `then` with a second function, `Promise.allSettled`, `Promise.any`, lodash's `_.attempt`. */
const settles = (call: CallExpression, syntax: Syntax): boolean => {
  const callee = bareNode(call.callee);
  if (callee.type === 'Identifier') return callee.name === 'allSettled';
  if (callee.type !== 'MemberExpression') return false;
  const name = lastNameOf(callee, syntax);
  if (name === 'then') return call.arguments.length > 1;
  return (
    name === 'allSettled' || (callee.object.type === 'Identifier' && settling.has(`${callee.object.name}.${name}`))
  );
};

const settling: ReadonlySet<string> = new Set(['Promise.any', '_.attempt']);

/** Whether a statement ends in an error, under no condition. */
const alwaysThrows = (statement: Statement): boolean => {
  switch (statement.type) {
    case 'ThrowStatement':
      return true;
    case 'BlockStatement':
      return statement.body.some(alwaysThrows);
    case 'IfStatement':
      return statement.alternate != null && alwaysThrows(statement.consequent) && alwaysThrows(statement.alternate);
    case 'ExpressionStatement':
      return isThrown(statement.expression);
    case 'ReturnStatement':
      return statement.argument != null && isThrown(statement.argument);
    default:
      return false;
  }
};

/** `ctx.throw(403)` */
const isThrown = (given: Node): boolean => {
  const node = bareNode(given);
  if (node.type !== 'CallExpression') return false;
  const callee = bareNode(node.callee);
  return callee.type === 'MemberExpression' && isNamed(callee.object, 'ctx') && isNamed(callee.property, 'throw');
};

/**
 * Whether a block may end before the error that it throws. What it returns instead, be it `ctx.forbidden()`, is up to whoever called the
 * function that it is in; and whatever it reaches through `next` lies behind the guard.
 */
const goesOn = (block: Node): boolean => returns(block) || someNode(block, isLeaving);

const isLeaving = (node: Node): boolean =>
  ['BreakStatement', 'ContinueStatement', 'YieldExpression'].includes(node.type) || isNamed(node, 'next');

const returns = (block: Node): boolean =>
  someNode(block, (it) => it.type === 'ReturnStatement' && !(it.argument && isThrown(it.argument)));
