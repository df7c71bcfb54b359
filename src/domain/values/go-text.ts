// Text as Go's strconv parses and quotes it: flags, configuration files and error messages of Kubernetes follow these rules exactly.
// Invariant: pure and total; a refused text is an answer, with strconv's own words.

export type GoParse<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' };

/** A double-quoted literal, as `%q` prints a string: control characters are escaped, printable Unicode stays. */
export function goQuote(text: string): string {
  let quoted = '"';
  for (const character of text) quoted += escapes[character] ?? (isPrintable(character) ? character : escaped(character));
  return `${quoted}"`;
}

/** A float64 as `%v` prints it: the shortest digits, with an exponent below 1e-4 and from 1e6 on, written as `1e-05`. */
export function goFloat(value: number): string {
  const magnitude = Math.abs(value);
  const usesExponent = magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e6);
  return (usesExponent ? value.toExponential() : String(value)).replace(/e([-+])(\d)$/, 'e$10$2');
}

/** `[a b]`, as `%v` prints a list of strings. */
export function goList(items: readonly string[]): string {
  return `[${items.join(' ')}]`;
}

function isPrintable(character: string): boolean {
  return character === ' ' || !/[\p{C}\p{Z}]/u.test(character);
}

function escaped(character: string): string {
  const code = character.codePointAt(0) as number;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}

/** Only these twelve words are booleans on a command line. */
export function parseGoBool(text: string): GoParse<boolean> {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return { ok: true, value: true };
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return { ok: true, value: false };
  return syntaxError('ParseBool', text);
}

const anyBase = /^[-+]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;
const decimal = /^[-+]?[0-9]+$/;

/** A signed integer of that many bits. Base 0 takes Go's literals: `0x1f`, `0b1`, `0o17`, `017`, `1_000`. */
export function parseGoInt(text: string, base: 0 | 10, bits: number): GoParse<bigint> {
  if (!(base === 0 ? anyBase : decimal).test(text)) return syntaxError('ParseInt', text);
  const value = integerValue(text, base);
  const limit = 1n << BigInt(bits - 1);
  return value >= -limit && value < limit ? { ok: true, value } : rangeError('ParseInt', text);
}

/** A decimal integer as `strconv.Atoi` reads it. Values beyond the exact range of a double are out of range, as values beyond an int64 are in Go. */
export function parseGoAtoi(text: string): GoParse<number> {
  const parsed = parseGoInt(text, 10, 54);
  return parsed.ok ? { ok: true, value: Number(parsed.value) } : { ok: false, error: parsed.error.replace('ParseInt', 'Atoi') };
}

/** An unsigned decimal integer of that many bits; no sign is accepted. */
export function parseGoUint(text: string, bits: number): GoParse<bigint> {
  if (!/^[0-9]+$/.test(text)) return syntaxError('ParseUint', text);
  const value = integerValue(text, 10);
  return value < 1n << BigInt(bits) ? { ok: true, value } : rangeError('ParseUint', text);
}

/** Longer literals are out of any range; converting n digits costs n^2. */
const maxDigits = 100;

function integerValue(text: string, base: 0 | 10): bigint {
  const negative = text.startsWith('-');
  const digits = text
    .replace(/^[-+]/, '')
    .replaceAll('_', '')
    .toLowerCase()
    .replace(/^(0[xbo]?)?0*(?=.)/, '$1');
  if (digits.length > maxDigits) return negative ? -(1n << 256n) : 1n << 256n;
  const octal = base === 0 && /^0[0-7]+$/.test(digits);
  const magnitude = BigInt(octal ? `0o${digits.slice(1)}` : base === 10 ? digits.replace(/^0+(?=.)/, '') : digits);
  return negative ? -magnitude : magnitude;
}

function syntaxError(operation: string, text: string): GoParse<never> {
  return { ok: false, error: `strconv.${operation}: parsing ${goQuote(text)}: invalid syntax` };
}

function rangeError(operation: string, text: string): GoParse<never> {
  return { ok: false, error: `strconv.${operation}: parsing ${goQuote(text)}: value out of range` };
}

/** Go's definition of white space, which differs from JavaScript's: it has U+0085 and lacks the byte order mark. */
const goSpace = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** Trims white space as strings.TrimSpace does. A loop, because a regular expression searches for the end from each space again. */
export function goTrimSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && goSpace.test(text.charAt(start))) start++;
  while (end > start && goSpace.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Removes every trailing occurrence of the character: strings.TrimRight. Written by hand, as above. */
export function goTrimRight(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text.charAt(end - 1) === character) end--;
  return text.slice(0, end);
}
