// Why a text is not JSON, in the words of Go's encoding/json: users see them in events about a Secret with an invalid document.
// Invariant: null exactly if the text is JSON; iterative, so that nesting needs no stack.
import { goQuote } from './go-text.js';

const maxDepth = 10_000;
const whiteSpace = ' \t\r\n';
const literals: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

class Problem {
  constructor(readonly text: string) {}
}

type Place = 'value' | 'first-key' | 'key' | 'first-element' | 'after-value';

/** Null for well-formed JSON. */
export function goJsonProblem(text: string): string | null {
  const open: ('{' | '[')[] = [];
  let at = 0;
  let place: Place = 'value';
  try {
    for (;;) {
      at = skipSpace(text, at);
      if (place === 'after-value' && open.length === 0) return at < text.length ? `invalid character ${quoted(text, at)} after top-level value` : null;
      const character = text[at];
      if (character === undefined) throw endOfInput();
      if (place === 'after-value') {
        const kind = open[open.length - 1];
        if (character !== ',' && character !== (kind === '{' ? '}' : ']')) throw unexpected(text, at, kind === '{' ? 'after object key:value pair' : 'after array element');
        if (character === ',') place = kind === '{' ? 'key' : 'value';
        else open.pop();
        at++;
      } else if ((place === 'first-key' && character === '}') || (place === 'first-element' && character === ']')) {
        open.pop();
        at++;
        place = 'after-value';
      } else if (place === 'key' || place === 'first-key') {
        if (character !== '"') throw unexpected(text, at, 'looking for beginning of object key string');
        at = skipSpace(text, stringEnd(text, at));
        if (at >= text.length) throw endOfInput();
        if (text[at] !== ':') throw unexpected(text, at, 'after object key');
        at++;
        place = 'value';
      } else if (character === '{' || character === '[') {
        open.push(character);
        if (open.length > maxDepth) return 'exceeded max depth';
        at++;
        place = character === '{' ? 'first-key' : 'first-element';
      } else {
        at = scalarEnd(text, at, character);
        place = 'after-value';
      }
    }
  } catch (problem) {
    if (problem instanceof Problem) return problem.text;
    throw problem;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && whiteSpace.includes(text[at]!)) at++;
  return at;
}

function scalarEnd(text: string, at: number, first: string): number {
  if (first === '"') return stringEnd(text, at);
  const literal = literals[first];
  if (literal !== undefined) return literalEnd(text, at, literal);
  if (first === '-' || isDigit(first)) return numberEnd(text, at);
  throw unexpected(text, at, 'looking for beginning of value');
}

function literalEnd(text: string, from: number, literal: string): number {
  for (let i = 1; i < literal.length; i++) expect(text, from + i, text[from + i] === literal[i], `in literal ${literal} (expecting '${literal[i]}')`);
  return from + literal.length;
}

function stringEnd(text: string, from: number): number {
  for (let at = from + 1; ; at++) {
    const character = text[at];
    if (character === undefined) throw endOfInput();
    if (character === '"') return at + 1;
    if (character < ' ') throw unexpected(text, at, 'in string literal');
    if (character !== '\\') continue;
    at++;
    expect(text, at, 'bfnrt\\/"u'.includes(text[at] ?? ' '), 'in string escape code');
    if (text[at] !== 'u') continue;
    for (let i = 1; i <= 4; i++) expect(text, at + i, /^[0-9a-fA-F]$/.test(text[at + i] ?? ''), 'in \\u hexadecimal character escape');
    at += 4;
  }
}

function numberEnd(text: string, from: number): number {
  let at = text[from] === '-' ? from + 1 : from;
  expect(text, at, isDigit(text[at]), 'in numeric literal');
  at = text[at] === '0' ? at + 1 : digitsEnd(text, at);
  if (text[at] === '.') {
    expect(text, at + 1, isDigit(text[at + 1]), 'after decimal point in numeric literal');
    at = digitsEnd(text, at + 1);
  }
  if (text[at] === 'e' || text[at] === 'E') {
    at += text[at + 1] === '+' || text[at + 1] === '-' ? 2 : 1;
    expect(text, at, isDigit(text[at]), 'in exponent of numeric literal');
    at = digitsEnd(text, at);
  }
  return at;
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (isDigit(text[at])) at++;
  return at;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

function expect(text: string, at: number, isMet: boolean, where: string): void {
  if (isMet && at < text.length) return;
  throw at < text.length ? unexpected(text, at, where) : endOfInput();
}

function endOfInput(): Problem {
  return new Problem('unexpected end of JSON input');
}

function unexpected(text: string, at: number, where: string): Problem {
  return new Problem(`invalid character ${quoted(text, at)} ${where}`);
}

function quoted(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at)!);
  if (character === "'") return "'\\''";
  return character === '"' ? `'"'` : `'${goQuote(character).slice(1, -1)}'`;
}
