// Words of src that the glossary (docs/glossary.md) replaces: banned in comments, and limited in identifiers to those that are left.
import ts from 'typescript';
import { type Finding, lineOf, nodesOf, type SourceText } from './source-text.js';

interface BannedWord {
  readonly word: string;
  /** Matches text in words: a comment, or an identifier split at its capitals. */
  readonly pattern: RegExp;
  readonly instead: string;
}

const bannedWords: readonly BannedWord[] = [
  { word: 'tell', pattern: /\b(tell|tells|told|telling)\b/i, instead: 'report, record, request, notify' },
  { word: 'anew', pattern: /\banew\b/i, instead: 'again' },
  { word: 'whoever', pattern: /\bwho(m|so)?ever\b/i, instead: 'the client, the caller' },
  { word: 'nobody', pattern: /\b(nobody|somebody|anybody|everybody)\b/i, instead: 'no pod, no client, another program' },
  { word: 'ours', pattern: /\bours\b/i, instead: 'this agent, the project' },
  { word: 'go on', pattern: /\b(go|goes|went|going|gone) on\b/i, instead: 'continue, resume' },
  { word: 'come about', pattern: /\b(come|comes|came|coming|bring|brings|brought) about\b/i, instead: 'happen, actuate' },
  { word: 'let go', pattern: /\b(let|lets|letting) (\w+ ){0,2}go\b/i, instead: 'forget, release' },
];

/** The number of different identifiers in src that may have each word: none. A word that is banned later starts with the number of those that are left. */
export const identifierCeilings: Readonly<Record<string, number>> = {};

/** Banned words in the comments of one file of src. Text in backticks is code. */
export function commentFindings(source: SourceText): Finding[] {
  if (!source.path.startsWith('src/')) return [];
  return commentsOf(source).flatMap(({ text, line }) => findingsOf(text, source.path, line, 'a comment'));
}

/** Banned words in the texts of one file of src: log lines, errors, help. A text without a space is a name. */
export function literalFindings(source: SourceText): Finding[] {
  if (!source.path.startsWith('src/')) return [];
  const texts = [...nodesOf(source.tree)].filter((node) => ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node));
  return texts.flatMap((node) => {
    const { text } = node as ts.LiteralLikeNode;
    return text.includes(' ') ? findingsOf(text, source.path, lineOf(source, node), 'a text') : [];
  });
}

/** Banned words in a document. Text in backticks is code. */
export function documentFindings(path: string, text: string): Finding[] {
  return text.split('\n').flatMap((line, i) => findingsOf(line.replace(/`[^`]*`/g, ''), path, i + 1, 'a document'));
}

function findingsOf(text: string, path: string, line: number, where: string): Finding[] {
  return bannedWords.filter(({ pattern }) => pattern.test(text)).map(({ word, instead }) => ({ path, line, message: `"${word}" in ${where}; say: ${instead}` }));
}

/** Words with more identifiers than their ceiling. A lower number is no finding, so that concurrent renames don't conflict. */
export function identifierFindings(sources: readonly SourceText[], ceilings: Readonly<Record<string, number>>): Finding[] {
  const names = identifiersOf(sources.filter(({ path }) => path.startsWith('src/')));
  return bannedWords.flatMap(({ word, pattern, instead }) => {
    const found = [...names].filter(([name]) => pattern.test(wordsOf(name)));
    const most = ceilings[word] ?? 0;
    if (found.length <= most) return [];
    const list = found.map(([name, place]) => `${name} (${place})`).join(', ');
    return [{ path: 'src', line: 1, message: `${found.length} identifiers with "${word}", at most ${most}; say: ${instead}. They are: ${list}` }];
  });
}

/** Identifiers with the file of the first occurrence. */
function identifiersOf(sources: readonly SourceText[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { tree, path } of sources) for (const node of nodesOf(tree)) if (ts.isIdentifier(node) && !names.has(node.text)) names.set(node.text, path);
  return names;
}

/** `podWorkers` as "pod Workers". */
function wordsOf(name: string): string {
  return name.replace(/_/g, ' ').replace(/([a-z0-9])([A-Z])/g, '$1 $2');
}

/** Each comment as one line of text; consecutive line comments are one comment. */
function commentsOf(source: SourceText): { readonly text: string; readonly line: number }[] {
  const found: { text: string; readonly line: number; lastLine: number }[] = [];
  const comment = /\/\/.*|\/\*[\s\S]*?\*\//g;
  for (let match = comment.exec(source.text); match !== null; match = comment.exec(source.text)) {
    const literal = literalAt(source.tree, match.index);
    if (literal !== null) {
      comment.lastIndex = literal.end;
      continue;
    }
    const line = source.tree.getLineAndCharacterOfPosition(match.index).line + 1;
    const text = match[0].replace(/(^|\n)[\s/*]*/g, ' ');
    const before = found.at(-1);
    if (before !== undefined && match[0].startsWith('//') && before.lastLine === line - 1) {
      before.text += text;
      before.lastLine = line;
    } else found.push({ text, line, lastLine: line });
  }
  return found.map(({ text, line }) => ({ text: text.replace(/`[^`]*`/g, ''), line }));
}

/** The string, template or regular expression at a position. */
function literalAt(node: ts.Node, position: number): ts.Node | null {
  if (position < node.pos || position >= node.end) return null;
  if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)) {
    return position >= node.getStart() ? node : null;
  }
  return ts.forEachChild(node, (child) => literalAt(child, position) ?? undefined) ?? null;
}
