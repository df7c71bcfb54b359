// One TypeScript (or script) file as the tidy rules see it: its imports, its functions, its names, its text.
// Invariant: parsed only, never type-checked, so a rule can be tried on any text.
import ts from 'typescript';

export interface SourceText {
  /** From the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

export interface ImportOf {
  readonly specifier: string;
  readonly line: number;
}

/** What a rule found: a place and what is wrong there. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export function sourceText(path: string, text: string): SourceText {
  const kind = path.endsWith('.ts') ? ts.ScriptKind.TS : ts.ScriptKind.JS;
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, kind) };
}

export function lineOf(source: SourceText, node: ts.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;
}

export function finding(source: SourceText, node: ts.Node, message: string): Finding {
  return { path: source.path, line: lineOf(source, node), message };
}

/** Every node, parents before children. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesOf(child);
}

/** What the file reaches: static, type-only and dynamic imports, re-exports, `import('x')` types, `require`, and `new URL('x', import.meta.url)`. */
export function importsOf(source: SourceText): ImportOf[] {
  const found: ImportOf[] = [];
  for (const node of nodesOf(source.tree)) {
    const literal = specifierOf(node);
    if (literal !== null && ts.isStringLiteralLike(literal)) found.push({ specifier: literal.text, line: lineOf(source, node) });
  }
  return found;
}

function specifierOf(node: ts.Node): ts.Node | null {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier ?? null;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : null;
  if (ts.isCallExpression(node)) {
    const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(node.expression) && node.expression.text === 'require');
    return isImport ? (node.arguments[0] ?? null) : null;
  }
  if (ts.isNewExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'URL') {
    const [relative, base] = node.arguments ?? [];
    return relative !== undefined && base?.getText() === 'import.meta.url' && ts.isStringLiteralLike(relative) && relative.text.startsWith('.') ? relative : null;
  }
  return null;
}
