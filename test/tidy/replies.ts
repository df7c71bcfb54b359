// Replies and assertions in the domain. A reply has the type of the operation that was requested, so no cast of it is needed; an assertion states what
// a handler or a transition relies on.
import ts from 'typescript';
import { type Finding, finding, nodesOf, type SourceText } from './source-text.js';

/** The kernel settles any reply of a machine: its operations are a type parameter, which cannot be narrowed. */
const castInKernel = 'src/domain/kernel/kernel.ts';
/** Assertions in the domain. Raise it with each assertion that is added. */
export const assertionFloor = 221;

const replyTypes = /\b(Reply|ReplyTo|ReplyFor|AnswerOf)</;

/** Casts of replies, of their outcomes and of their values. */
export function replyCastFindings(source: SourceText): Finding[] {
  const { path, tree } = source;
  if (!path.startsWith('src/domain/') || path === castInKernel) return [];
  return [...nodesOf(tree)].flatMap((node) => {
    if (!ts.isAsExpression(node)) return [];
    const target = node.type.getText(tree);
    if (target === 'const' || !(isReply(node.expression) || replyTypes.test(target))) return [];
    return [finding(source, node, `a cast of a reply: ${node.getText(tree).slice(0, 80)}; declare a handler of the operation`)];
  });
}

/** `outcome.value`, `reply.outcome.value`, `outcome`, `reply`, also within a cast. */
function isReply(node: ts.Expression): boolean {
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node)) return isReply(node.expression);
  if (ts.isIdentifier(node)) return /^(outcome|reply)$/.test(node.text);
  return ts.isPropertyAccessExpression(node) && (node.name.text === 'outcome' || (node.name.text === 'value' && isReply(node.expression)));
}

export function assertionFindings(sources: readonly SourceText[], floor: number): Finding[] {
  let count = 0;
  for (const { path, tree } of sources) {
    if (!path.startsWith('src/domain/')) continue;
    for (const node of nodesOf(tree)) if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'assert') count++;
  }
  return count >= floor ? [] : [{ path: 'src/domain', line: 1, message: `${count} assertions, at least ${floor}` }];
}
