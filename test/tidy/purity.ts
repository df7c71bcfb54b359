// What ports, domain and sim may not touch: the clock, chance, timers, promises, the process, the locale.
// Invariant: a name that the file declares itself is its own and is not meant.
import ts from 'typescript';
import { type Finding, finding, nodesOf, type SourceText } from './source-text.js';

const bannedGlobals = new Set([
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'queueMicrotask', 'process', 'console', 'performance', 'Intl', 'crypto'],
  ...['Promise', 'PromiseLike', 'AsyncIterable', 'AsyncGenerator', 'globalThis', 'Buffer', 'require', 'eval'],
]);
/** Derives, as a type, what adapters implement from what the domain asks; nothing else in the pure layers names a promise. */
const asynchronousFace = 'src/ports/operation.ts';
const bannedMembers = new Set(['Date.now', 'Math.random']);
const bannedMethods = new Set(['localeCompare', 'toLocaleString', 'toLocaleDateString', 'toLocaleTimeString', 'toLocaleUpperCase', 'toLocaleLowerCase']);

export function purityFindings(source: SourceText): Finding[] {
  if (!/^src\/(ports|domain|sim)\//.test(source.path)) return [];
  const own = declaredNames(source);
  const found: Finding[] = [];
  for (const node of nodesOf(source.tree)) {
    const what = impurity(node, own);
    if (what === 'Promise' && source.path === asynchronousFace && ts.isTypeReferenceNode(node.parent)) continue;
    if (what !== null) found.push(finding(source, node, `${what} is banned in ports, domain and sim`));
  }
  return found;
}

function impurity(node: ts.Node, own: ReadonlySet<string>): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const member = `${node.expression.getText()}.${node.name.text}`;
    if (bannedMembers.has(member)) return member;
    return bannedMethods.has(node.name.text) ? node.name.text : null;
  }
  if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && ts.isIdentifier(node.expression) && node.expression.text === 'Date') return 'new Date';
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return 'async';
  if (ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AwaitKeyword) return 'await';
  if (ts.isIdentifier(node) && bannedGlobals.has(node.text) && !own.has(node.text) && isReference(node)) return node.text;
  return null;
}

/** False for the name of a member (`x.process`, `{ process: 1 }`), which is not the global. */
function isReference(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  const isMemberName =
    ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent) || ts.isPropertyDeclaration(parent) || ts.isMethodDeclaration(parent) || ts.isMethodSignature(parent);
  return !(isMemberName && parent.name === node) && !(ts.isBindingElement(parent) && parent.propertyName === node);
}

function declaredNames(source: SourceText): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of nodesOf(source.tree)) {
    const declares = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isFunctionDeclaration(node) || ts.isBindingElement(node) || ts.isImportSpecifier(node);
    if (declares && node.name !== undefined && ts.isIdentifier(node.name)) names.add(node.name.text);
  }
  return names;
}
