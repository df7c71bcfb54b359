// The value of a YAML scalar: YAML 1.1 as the Kubernetes tools read it (`yes` is true, 0644 is octal, base 60 and timestamps are text).
// Invariant: a pure function of the tag and the text; only this file types scalars.
import { DocumentError, integerOf, type PlainValue } from './plain-value.js';

const booleans = new Map<string, boolean>();
for (const word of ['y', 'yes', 'on', 'true']) for (const form of formsOf(word)) booleans.set(form, true);
for (const word of ['n', 'no', 'off', 'false']) for (const form of formsOf(word)) booleans.set(form, false);
const nulls = new Set(['', '~', 'null', 'Null', 'NULL']);

const integer = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const startsLikeNumber = /^[-+.0-9]/;

function formsOf(word: string): string[] {
  return [word, word.toUpperCase(), `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`];
}

const prefix = 'tag:yaml.org,2002:';

/**
 * The value of a scalar. `tag` is the explicit tag, null without one; `plain`: not quoted.
 * Throws `DocumentError` for a text that its tag does not allow, and for infinities, which JSON lacks.
 */
export function resolveScalar(text: string, tag: string | null, plain: boolean, offset: number): PlainValue {
  if (tag === null) return plain ? resolvePlain(text, offset) : text;
  switch (tag) {
    case `${prefix}null`:
    case `${prefix}bool`:
    case `${prefix}int`:
    case `${prefix}float`:
      return resolveTagged(text, tag.slice(prefix.length), offset);
    case `${prefix}binary`:
      return decodeBinary(text, offset);
    default:
      return text;
  }
}

function resolvePlain(text: string, offset: number): PlainValue {
  if (nulls.has(text)) return null;
  const known = booleans.get(text);
  if (known !== undefined) return known;
  if (!startsLikeNumber.test(text)) return text;
  if (notFinite.test(text)) throw new DocumentError(`unsupported value: ${text}`, offset);
  const digits = text.replaceAll('_', '');
  if (integer.test(digits)) return parseInteger(digits);
  if (float.test(digits)) {
    const number = Number(digits);
    if (Number.isFinite(number)) return number;
  }
  return text;
}

/** An integer beyond 64 bits is a float, as for a parser that has no larger type. */
function parseInteger(text: string): number | bigint {
  const negative = text.startsWith('-');
  const digits = text.replace(/^[-+]/, '');
  const octal = /^0[0-7]+$/.test(digits);
  const magnitude = BigInt(octal ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = negative ? -magnitude : magnitude;
  if (value > 0xffff_ffff_ffff_ffffn || value < -0x8000_0000_0000_0000n) return Number(value);
  return integerOf(value);
}

function resolveTagged(text: string, kind: string, offset: number): PlainValue {
  const value = resolvePlain(text, offset);
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const fits =
    (kind === 'null' && value === null) ||
    (kind === 'bool' && typeof value === 'boolean') ||
    (kind === 'float' && isNumber) ||
    (kind === 'int' && isNumber && (typeof value === 'bigint' || Number.isInteger(value)));
  if (!fits) throw new DocumentError(`cannot decode ${JSON.stringify(text)} as a !!${kind}`, offset);
  return value;
}

function decodeBinary(text: string, offset: number): string {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) throw new DocumentError('!!binary value contains invalid base64 data', offset);
  return Buffer.from(compact, 'base64').toString('utf8');
}
