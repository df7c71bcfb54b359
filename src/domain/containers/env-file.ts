// Files that give single environment variables (`fileKeyRef`, KEP-3721): lines of `NAME='literal'`.
// Invariant: strict. What a shell would read differently is refused rather than guessed; a value is exactly what stands between its quotes.

export type EnvFileValue = { readonly kind: 'found'; readonly value: string } | { readonly kind: 'missing' } | { readonly kind: 'malformed' };

/**
 * The value of the first line with that key. What follows it isn't looked at, so a broken line only matters before it.
 * Blanks may stand before a key and after a closing quote, a `#` comment alone or after a closing quote; nothing may stand around `=`.
 */
export function envFileValue(text: string, key: string): EnvFileValue {
  let at = 0;
  while (at < text.length) {
    const lineEnd = endOfLine(text, at);
    const line = text.slice(at, lineEnd).trim();
    if (line === '' || line.startsWith('#')) {
      at = lineEnd + 1;
      continue;
    }
    const start = skipBlanks(text, at);
    const equals = text.indexOf('=', start);
    if (equals < 0 || equals > lineEnd || text[equals + 1] !== "'") return { kind: 'malformed' };
    const name = text.slice(start, equals);
    const close = text.indexOf("'", equals + 2);
    if (name === '' || /\s$/.test(name) || close < 0) return { kind: 'malformed' };
    const end = endOfLine(text, close);
    const rest = text.slice(close + 1, end).trim();
    if (rest !== '' && !rest.startsWith('#')) return { kind: 'malformed' };
    if (name === key) return { kind: 'found', value: text.slice(equals + 2, close) };
    at = end + 1;
  }
  return { kind: 'missing' };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at]!)) at++;
  return at;
}
