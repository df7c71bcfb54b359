// One document, YAML or JSON, as the Kubernetes tools read it: text that begins with `{` must be JSON, everything else is YAML 1.1.
// The npm package parses the syntax; scalars, merge keys and aliases are interpreted here.
// Invariant: never throws; work is bounded by the size of the text, aliases included.
import { type Alias, Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, type Pair, Parser, type Scalar, type YAMLMap } from 'yaml';
import { decodeText } from '../text/index.js';
import { parseJson } from './parse-json.js';
import { childPath, DocumentError, type DuplicateKey, maxDepth, type ParsedDocument, type PlainMap, type PlainValue, type RefusedDocument, setOwn } from './plain-value.js';
import { resolveScalar } from './resolve-scalar.js';

/** Larger texts are refused before anything is parsed: the limit of a manifest or a configuration file. */
export const maxDocumentBytes = 10 * 1024 * 1024;

/**
 * Reads the first document of a text, or of bytes in UTF-8, or in UTF-16 with a byte order mark, which makes any text YAML.
 * Of several values of one key the last is kept and the key is listed in `duplicateKeys`.
 */
export function parseYaml(source: string | Uint8Array): ParsedDocument | RefusedDocument {
  const size = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength;
  if (size > maxDocumentBytes) return { ok: false, message: `document is larger than ${maxDocumentBytes} bytes`, line: 0, column: 0 };
  const decoded = typeof source === 'string' ? { ok: true as const, text: source.replace(/^\ufeff/, ''), hasMark: source.startsWith('\ufeff') } : decodeText(source);
  if (!decoded.ok) return { ok: false, message: `yaml: ${decoded.problem}`, line: 0, column: 0 };
  const { text, hasMark } = decoded;
  const lines = new LineCounter();
  try {
    return /^\s*\{/.test(text) && !hasMark ? readJson(text, lines) : readYaml(text, lines);
  } catch (error) {
    if (error instanceof DocumentError) {
      const place = error.offset === null ? { line: 0, col: 0 } : lines.linePos(error.offset);
      return { ok: false, message: error.message, line: place.line, column: place.col };
    }
    // Nesting that outgrows the stack before it reaches maxDepth.
    if (error instanceof RangeError) return { ok: false, message: 'exceeded max depth', line: 0, column: 0 };
    throw error;
  }
}

function readJson(text: string, lines: LineCounter): ParsedDocument {
  for (let at = 0; at >= 0; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at);
  const { value, duplicates } = parseJson(text);
  return { ok: true, format: 'json', value, duplicateKeys: duplicates.map(({ key, path, offset }) => ({ key, path, line: lines.linePos(offset).line, isMerged: false })) };
}

/** Files that were written one behind the other have marks at the beginnings of lines, where YAML readers skip them. */
const marksOfLines = /^\ufeff/gm;

function readYaml(given: string, lines: LineCounter): ParsedDocument {
  const text = given.replace(marksOfLines, '');
  const control = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\uffff\u{10000}-\u{10ffff}]/u.exec(text);
  if (control !== null) throw new DocumentError('control characters are not allowed', null);
  refuseDeepFlow(text);
  const document = firstDocument(text, lines);
  if (document === null) return { ok: true, format: 'yaml', value: null, duplicateKeys: [] };
  const [problem] = document.errors;
  // The package reports a stack that overflowed as a mistake of the document.
  if (problem?.message.startsWith('Maximum call stack')) throw new DocumentError('exceeded max depth', problem.pos[0]);
  if (problem !== undefined) throw new DocumentError(problem.message, problem.pos[0]);
  const root = document.contents as Node | null;
  const reader = new NodeReader(aliasTargets(root), lines);
  const value = root === null ? null : reader.read(root, '', 0);
  return { ok: true, format: 'yaml', value, duplicateKeys: reader.duplicates };
}

const maxFlowDepth = 1000;

/** A run of opening brackets costs the parser far more than its size, so it is counted on tokens first; texts with few brackets skip that. */
function refuseDeepFlow(text: string): void {
  let brackets = 0;
  for (const character of text) if (character === '[' || character === '{') brackets++;
  if (brackets <= maxFlowDepth) return;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth++;
    if (token === ']' || token === '}') depth--;
    if (depth > maxFlowDepth) throw new DocumentError('exceeded max depth', null);
  }
}

/** Stops after the first document: text after `---` is ignored, mistakes included. */
function firstDocument(text: string, lines: LineCounter): Document.Parsed | null {
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  });
  for (const document of composer.compose(new Parser(lines.addNewLine).parse(text), true, text.length)) return document as Document.Parsed;
  return null;
}

// Aliases may make up nearly all of a small document but only a tenth of a large one, so that expansion stays bounded.
const smallDocument = 400_000;
const largeDocument = 4_000_000;

function allowedAliasShare(nodes: number): number {
  if (nodes <= smallDocument) return 0.99;
  if (nodes >= largeDocument) return 0.1;
  return 0.99 - (0.89 * (nodes - smallDocument)) / (largeDocument - smallDocument);
}

/**
 * The target of each alias: the last node before it with its name. Computed in one pass, since the package searches
 * the whole document for each alias.
 */
function aliasTargets(root: Node | null): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const visit = (node: Node | null): void => {
    if (node === null) return;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
      return;
    }
    const { anchor } = node as { readonly anchor?: string };
    if (anchor !== undefined) anchors.set(anchor, node);
    if (isSeq(node)) for (const item of node.items) visit(item as Node | null);
    if (isMap(node)) {
      for (const pair of node.items as Pair<Node | null, Node | null>[]) {
        visit(pair.key);
        visit(pair.value);
      }
    }
  };
  visit(root);
  return targets;
}

class NodeReader {
  readonly duplicates: DuplicateKey[] = [];
  private readonly targets: ReadonlyMap<Alias, Node>;
  private readonly lines: LineCounter;
  private readonly open = new Set<Node>();
  private nodes = 0;
  private aliasedNodes = 0;
  private aliasDepth = 0;

  constructor(targets: ReadonlyMap<Alias, Node>, lines: LineCounter) {
    this.targets = targets;
    this.lines = lines;
  }

  read(node: Node | null, path: string, depth: number): PlainValue {
    if (depth > maxDepth) throw new DocumentError('exceeded max depth', offsetOf(node));
    this.count(node);
    if (node === null) return null;
    if (isAlias(node)) return this.readAlias(node, (target) => this.read(target, path, depth + 1));
    if (isScalar(node)) return readScalar(node);
    if (isSeq(node)) return node.items.map((item, i) => this.read(item as Node | null, `${path}[${i}]`, depth + 1));
    if (!isMap(node)) throw new DocumentError('unknown node', offsetOf(node));
    const map: PlainMap = {};
    this.fill(map, node, path, depth);
    return map;
  }

  private count(node: Node | null): void {
    this.nodes++;
    if (this.aliasDepth > 0) this.aliasedNodes++;
    if (this.aliasedNodes > 100 && this.nodes > 1000 && this.aliasedNodes / this.nodes > allowedAliasShare(this.nodes)) {
      throw new DocumentError('document contains excessive aliasing', offsetOf(node));
    }
  }

  private readAlias<T>(alias: Alias, read: (target: Node) => T): T {
    const target = this.targets.get(alias);
    if (target === undefined) throw new DocumentError(`unknown anchor '${alias.source}' referenced`, offsetOf(alias));
    if (this.open.has(target)) throw new DocumentError(`anchor '${alias.source}' value contains itself`, offsetOf(alias));
    this.open.add(target);
    this.aliasDepth++;
    const value = read(target);
    this.aliasDepth--;
    this.open.delete(target);
    return value;
  }

  /** Keys in order; a merge key takes effect at its position: a later key overrides it, and it overrides an earlier one. */
  private fill(map: PlainMap, node: YAMLMap, path: string, depth: number): void {
    const own = new Set<string>();
    for (const pair of node.items as Pair<Node | null, Node | null>[]) {
      if (isMergeKey(pair.key)) {
        this.merge(map, pair.value, path, depth + 1);
        continue;
      }
      const key = this.readKey(pair.key);
      const at = childPath(path, key);
      const value = this.read(pair.value, at, depth + 1);
      if (Object.hasOwn(map, key)) {
        const { line } = this.lines.linePos(offsetOf(pair.value) ?? offsetOf(pair.key) ?? 0);
        this.duplicates.push({ key, path: at, line, isMerged: !own.has(key) });
      }
      own.add(key);
      setOwn(map, key, value);
    }
  }

  private merge(map: PlainMap, node: Node | null, path: string, depth: number): void {
    this.count(node);
    if (node !== null && isAlias(node)) {
      this.readAlias(node, (target) => this.merge(map, target, path, depth));
      return;
    }
    if (node !== null && isMap(node)) {
      this.fill(map, node, path, depth);
      return;
    }
    if (node === null || !isSeq(node)) throw new DocumentError('map merge requires map or sequence of maps as the value', offsetOf(node));
    // Earlier maps of the list win, so they come last.
    for (const item of [...(node.items as Node[])].reverse()) {
      const target = isAlias(item) ? this.targets.get(item) : item;
      if (target === undefined || !isMap(target)) throw new DocumentError('map merge requires map or sequence of maps as the value', offsetOf(item));
      this.merge(map, item, path, depth);
    }
  }

  private readKey(node: Node | null): string {
    const value = node === null ? null : this.read(node, '', 0);
    if (typeof value === 'string') return value;
    if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint') return String(value);
    throw new DocumentError(`unsupported map key: ${value === null ? 'null' : 'a collection'}`, offsetOf(node));
  }
}

function readScalar(node: Scalar): PlainValue {
  return resolveScalar(String(node.value), node.tag ?? null, node.type === 'PLAIN', offsetOf(node) ?? 0);
}

function isMergeKey(node: Node | null): boolean {
  return node !== null && isScalar(node) && node.type === 'PLAIN' && node.value === '<<' && (node.tag === undefined || node.tag === 'tag:yaml.org,2002:merge');
}

function offsetOf(node: Node | null): number | null {
  return node?.range?.[0] ?? null;
}
