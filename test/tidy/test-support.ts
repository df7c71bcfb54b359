// Rules of tests: what test/support has is not written a second time, and a wait names its condition.
import ts from 'typescript';
import { type Finding, finding, nodesOf, type SourceText } from './source-text.js';

/** Sleeps in tests that wait for no condition. Lower the number when one becomes `until` or `holdsFor`; never raise it. */
export const bareSleepsMax = 11;

/** Functions of test/support that another file of tests declares again. */
export function repeatedSupportFindings(sources: readonly SourceText[]): Finding[] {
  const supported = new Map(
    sources.filter(({ path }) => path.startsWith('test/support/')).flatMap((source) => declaredFunctions(source).map(({ name }) => [name, source.path] as const)),
  );
  return sources
    .filter(isTest)
    .flatMap((source) =>
      declaredFunctions(source).flatMap(({ name, node }) => (supported.has(name) ? [finding(source, node, `${name} is in ${supported.get(name)}: import it`)] : [])),
    );
}

/** Sleeps outside of loops and of conditions, when there are more than `most`. */
export function bareSleepFindings(sources: readonly SourceText[], most: number): Finding[] {
  const found = sources.filter(isTest).flatMap((source) => [...nodesOf(source.tree)].flatMap((node) => (isBareSleep(node) ? [finding(source, node, '')] : [])));
  if (found.length <= most) return [];
  const places = found.map(({ path, line }) => `${path}:${line}`).join(', ');
  return [{ path: 'test', line: 1, message: `${found.length} sleeps without a condition, at most ${most}: use until or holdsFor of test/support/until.ts. They are: ${places}` }];
}

function isTest({ path }: SourceText): boolean {
  return path.startsWith('test/') && !path.startsWith('test/support/') && !path.startsWith('test/tidy');
}

function declaredFunctions({ tree }: SourceText): { readonly name: string; readonly node: ts.Node }[] {
  return tree.statements.flatMap((statement): { readonly name: string; readonly node: ts.Node }[] => {
    if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) return [{ name: statement.name.text, node: statement }];
    if (!ts.isVariableStatement(statement)) return [];
    return statement.declarationList.declarations.flatMap(({ name, initializer }) =>
      ts.isIdentifier(name) && initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer)) ? [{ name: name.text, node: statement }] : [],
    );
  });
}

/** `await delay(...)`, or `await new Promise(...)` with a timer, as a statement that no loop and no condition repeats. */
function isBareSleep(node: ts.Node): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isAwaitExpression(node.expression)) return false;
  const awaited = node.expression.expression;
  const isDelay = ts.isCallExpression(awaited) && /^(delay|sleep|setTimeout)$/.test(awaited.expression.getText());
  const isTimer =
    ts.isNewExpression(awaited) && awaited.expression.getText() === 'Promise' && /^\(?(\w+)\)? => (void )?setTimeout\(\1, /.test(awaited.arguments?.[0]?.getText() ?? '');
  return (isDelay || isTimer) && !isRepeated(node);
}

function isRepeated(node: ts.Node): boolean {
  for (let above = node.parent; above !== undefined && !ts.isSourceFile(above); above = above.parent) {
    if (ts.isIterationStatement(above, false)) return true;
    if (ts.isCallExpression(above) && /(^|\.)until\w*$/.test(above.expression.getText())) return true;
    if (ts.isFunctionDeclaration(above)) return false;
  }
  return false;
}
