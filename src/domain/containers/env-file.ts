// Files that give single environment variables (`fileKeyRef`, KEP-3721): lines of `NAME='literal'`.
// Invariant: strict. What a shell would read differently is refused rather than guessed; a value is exactly what stands between its quotes,
// but for line ends, which are read as newlines.

export type EnvFileValue = { readonly kind: 'found'; readonly value: string } | { readonly kind: 'missing' } | { readonly kind: 'malformed' };

/**
 * The value of the first line with that key. What follows it isn't looked at, so a broken line only matters before it.
 * Blanks (spaces and tabs) may stand before a key and after a closing quote, a `#` comment alone or after a closing quote; nothing may
 * stand around `=`.
 */
export function envFileValue(file: string, key: string): EnvFileValue {
  const text = file.replace(/\r(?=\n|$)/g, '');
  for (let at = 0; at < text.length; ) {
    const lineEnd = endOfLine(text, at);
    const line = text.slice(at, lineEnd).replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) {
      at = lineEnd + 1;
      continue;
    }
    const equals = line.indexOf('=');
    const name = line.slice(0, Math.max(equals, 0));
    if (name === '' || /[ \t]$/.test(name) || line[equals + 1] !== "'") return { kind: 'malformed' };
    const start = lineEnd - line.length + equals + 2;
    const close = text.indexOf("'", start);
    if (close < 0) return { kind: 'malformed' };
    const end = endOfLine(text, close);
    if (!/^[ \t]*(#|$)/.test(text.slice(close + 1, end))) return { kind: 'malformed' };
    if (name === key) return { kind: 'found', value: text.slice(start, close) };
    at = end + 1;
  }
  return { kind: 'missing' };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}
