// One line of comma separated values, as list flags take it: quotes protect commas, a doubled quote is a quote.
// Invariant: the empty text is the empty list.
import type { GoParse } from '../values/go-text.js';

const bare = 'bare " in non-quoted field';
const extraneous = 'extraneous or missing " in quoted-field';

/** Reads the first line; what follows a line break outside quotes is ignored, as by the reader that the flags were made for. */
export function readCsvLine(text: string): GoParse<readonly string[]> {
  const lines = text
    .replace(/^(?:\r?\n)+/, '')
    .replace(/\r\n/g, '\n')
    .replace(/\r$/, '');
  if (text === '') return { ok: true, value: [] };
  if (lines === '') return { ok: false, error: 'EOF' };
  const fields: string[] = [];
  let position = 0;
  for (;;) {
    const field = lines[position] === '"' ? readQuoted(lines, position) : readBare(lines, position);
    if ('error' in field) return { ok: false, error: `parse error on line 1, column ${field.at + 1}: ${field.error}` };
    fields.push(field.text);
    if (lines[field.end] !== ',') return { ok: true, value: fields };
    position = field.end + 1;
  }
}

type Field = { readonly text: string; readonly end: number } | { readonly error: string; readonly at: number };

function readBare(text: string, start: number): Field {
  let end = start;
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') {
    if (text[end] === '"') return { error: bare, at: end };
    end++;
  }
  return { text: text.slice(start, end), end };
}

function readQuoted(text: string, start: number): Field {
  let value = '';
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] !== '"') {
      value += text[i];
    } else if (text[i + 1] === '"') {
      value += '"';
      i++;
    } else {
      const next = text[i + 1];
      return next === undefined || next === ',' || next === '\n' ? { text: value, end: i + 1 } : { error: extraneous, at: i };
    }
  }
  return { error: extraneous, at: text.length };
}
