// Files with values of single environment variables (`fileKeyRef`, KEP-3721): lines of `NAME='literal'`.
// Invariant: strict. Syntax that a shell would read differently is refused, not guessed; a value is exactly the text between its quotes,
// except that line ends are read as newlines.

export type EnvFileValue = { readonly kind: 'found'; readonly value: string } | { readonly kind: 'missing' } | { readonly kind: 'malformed' };

/**
 * The value of the first line with that key. Lines after it aren't parsed, so a malformed line matters only before it.
 * Blanks (spaces and tabs) may precede a key and follow a closing quote, a `#` comment may be alone or follow a closing quote; nothing may
 * surround `=`.
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
