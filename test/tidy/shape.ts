// Sizes, names and forms that hold in every file written by hand.
import { posix } from 'node:path';
import ts from 'typescript';
import { type Finding, finding, lineOf, nodesOf, type SourceText } from './source-text.js';

const fileLinesMax = 400;
const functionLinesMax = 70;
const lineCharactersMax = 180;
/** Lines of src/app: wiring, command lines and the demonstration. Lower it when something moves to its layer; never raise it. */
export const appLinesMax = 5_700;

export function sizeFindings(source: SourceText): Finding[] {
  const found: Finding[] = [];
  const lines = source.text.replace(/\n$/, '').split('\n');
  if (lines.length > fileLinesMax)
    found.push({ path: source.path, line: fileLinesMax + 1, message: `${lines.length} lines; a file has at most ${fileLinesMax}: split it by concept` });
  lines.forEach((line, i) => {
    if (line.length > lineCharactersMax) found.push({ path: source.path, line: i + 1, message: `${line.length} characters; a line has at most ${lineCharactersMax}` });
  });
  for (const node of nodesOf(source.tree)) {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) continue;
    const length = source.tree.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(source, node);
    if (length > functionLinesMax) found.push(finding(source, node, `${length} lines; a function has at most ${functionLinesMax}`));
  }
  return found;
}

/** The composition root has a ceiling: an adapter's work belongs to src/adapters, and decisions belong to src/domain. */
export function appSizeFindings(sources: readonly SourceText[], most: number): Finding[] {
  const lines = sources.filter(({ path }) => path.startsWith('src/app/')).reduce((sum, { text }) => sum + text.replace(/\n$/, '').split('\n').length, 0);
  return lines <= most ? [] : [{ path: 'src/app', line: 1, message: `${lines} lines, at most ${most}: move an adapter's work to src/adapters, and decisions to src/domain` }];
}

export function nameFindings(path: string): Finding[] {
  const found: Finding[] = [];
  const [name = '', ...suffixes] = posix.basename(path).split('.');
  const directories = posix
    .dirname(path)
    .split('/')
    .filter((part) => !part.startsWith('.'));
  if (![name, ...directories].every((part) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(part))) found.push({ path, line: 1, message: 'names of files and folders are kebab-case' });
  if (!/^(((alone|long)\.)?test\.|nightly\.|soak\.|contract\.|d\.)?(ts|mjs)$/.test(suffixes.join('.')))
    found.push({ path, line: 1, message: `unknown kind of file: .${suffixes.join('.')}` });
  if ([name, ...directories].some((part) => /^(utils?|helpers?|common|misc|shared)$|-(utils?|helpers?)$/.test(part))) {
    found.push({ path, line: 1, message: 'a name says what is inside; utils, helpers, common and the like do not' });
  }
  return found;
}

export function formFindings(source: SourceText): Finding[] {
  const found: Finding[] = [];
  for (const node of nodesOf(source.tree)) {
    const message = formProblem(node) ?? (source.path.startsWith('src/') ? lateImportProblem(node) : null);
    if (message !== null) found.push(finding(source, node, message));
  }
  const first = source.tree.statements[0];
  if (source.path.startsWith('src/') && first !== undefined && ts.getLeadingCommentRanges(source.text, 0) === undefined && !source.text.startsWith('#!')) {
    found.push(finding(source, first, 'a file begins with a comment: what it is, why, its invariant'));
  }
  return found;
}

function formProblem(node: ts.Node): string | null {
  if (ts.isExportAssignment(node)) return 'no default export';
  if (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) return 'no default export';
  if (ts.isExportSpecifier(node) && node.name.text === 'default') return 'no default export';
  if (ts.isEnumDeclaration(node)) return 'no enum: a union of string literals';
  if (ts.isDecorator(node)) return 'no decorators';
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'only' && /^(t|test|tap|describe|it)$/.test(node.expression.getText())) return 'no .only';
  if (ts.isPropertyAssignment(node) && node.name.getText() === 'only' && node.initializer.kind === ts.SyntaxKind.TrueKeyword) return 'no only: true';
  return null;
}

/** In the bundle a CommonJS package that is imported late has nothing but a default export. */
function lateImportProblem(node: ts.Node): string | null {
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return null;
  const [specifier] = node.arguments;
  const isPackage = specifier !== undefined && ts.isStringLiteralLike(specifier) && !/^(\.|node:)/.test(specifier.text);
  return isPackage ? 'import() a module of ours that imports the package: bundled, the package itself would lose its named exports' : null;
}

/** Faces of packages and adapters collect exports; elsewhere one imports a thing from where it is. */
export function barrelFindings(source: SourceText): Finding[] {
  const isFace = /^src\/((ports|domain|sim)|adapters\/[^/]+)\/index\.ts$/.test(source.path);
  if (isFace || !source.path.startsWith('src/')) return [];
  if (posix.basename(source.path) === 'index.ts') return [{ path: source.path, line: 1, message: 'index.ts is for the faces of layers and adapters' }];
  const statements = source.tree.statements;
  const exports = statements.filter((statement): statement is ts.ExportDeclaration => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined);
  const star = exports.find((statement) => statement.exportClause === undefined);
  if (star !== undefined) return [finding(source, star, 'no barrel: export * is for faces')];
  const onlyForwards = exports.length > 0 && statements.every((statement) => ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement));
  return onlyForwards ? [{ path: source.path, line: 1, message: 'no barrel: this file only forwards exports' }] : [];
}
