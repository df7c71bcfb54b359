// A Kubernetes resource quantity: an exact decimal number with the family of suffixes it was written in (resource.Quantity of the API).
// Invariant: the number is mantissa x 10^scale with scale >= -9; nothing here uses floating point.
import { AssertionFailed } from '../kernel/assert.js';
import { goTrimSpace } from './go-text.js';

/** Suffix families: `1500m`, `2Ki`, `1e3`. A result has the family of its operand. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  readonly mantissa: bigint;
  /** Power of ten; at least -9, since the finest unit is 1n. */
  readonly scale: number;
  readonly format: QuantityFormat;
  /** The text it was parsed from where that is echoed instead of the canonical form; null after arithmetic. */
  readonly echo: string | null;
  /** False for a number that the API machinery holds as a big decimal: those never answer `exactInt64`. */
  readonly small: boolean;
}

export type QuantityParse = { readonly ok: true; readonly quantity: Quantity } | { readonly ok: false; readonly error: string };

/** The three texts a malformed quantity is answered with; users and tests match on them. */
export const quantityErrors = {
  format: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  suffix: "unable to parse quantity's suffix",
  numeric: 'unable to parse numeric part of quantity',
} as const;

const nano = -9;
const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
/** An int64 holds any number of 18 digits. */
const int64Digits = 18;
/** Longer texts are no quantity anyone writes, and converting a number of n digits costs n^2. */
const maxTextLength = 1024;
/** Numbers with more digits are rejected: `1e2147483647` would otherwise need 2 GB of digits. */
const maxExponent = 999;

const decimalExponents: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const decimalSuffixes: readonly string[] = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}
const knownSuffixes: ReadonlyMap<string, Suffix> = new Map([
  ...Object.entries(decimalExponents).map(([text, exponent]): [string, Suffix] => [text, { base: 10, exponent, format: 'DecimalSI' }]),
  ...Object.entries(binaryExponents).map(([text, exponent]): [string, Suffix] => [text, { base: 2, exponent, format: 'BinarySI' }]),
]);

export const zeroQuantity: Quantity = { mantissa: 0n, scale: 0, format: 'DecimalSI', echo: null, small: true };

/** A whole number of units, e.g. bytes. */
export function quantityOf(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { mantissa: BigInt(value), scale: 0, format, echo: null, small: true };
}

/** A number of thousandths, e.g. millicores. */
export function milliQuantityOf(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { mantissa: BigInt(value), scale: -3, format, echo: null, small: true };
}

/** Reads a quantity's text; no white space is accepted. Never throws: a bad text is an expected outcome. */
export function parseQuantity(text: string): QuantityParse {
  if (text.length === 0 || text.length > maxTextLength) return bad('format');
  const parts = splitQuantity(text);
  if (parts === null) return bad('format');
  const suffix = interpretSuffix(parts.suffix);
  if (suffix === null) return bad('suffix');
  return parseFast(text, parts, suffix) ?? parseExact(parts, suffix);
}

/** Reads a validated quantity; an invalid one is a programmer error and throws. */
export function mustParseQuantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new AssertionFailed(`quantity ${JSON.stringify(text)}: ${parsed.error}`);
  return parsed.quantity;
}

/** Reads the raw JSON of a quantity field. As in the API machinery, JSON escapes between the quotes are not decoded. */
export function parseQuantityJson(json: string): QuantityParse {
  if (json === 'null') return { ok: true, quantity: zeroQuantity };
  const inner = json.length >= 2 && json.startsWith('"') && json.endsWith('"') ? json.slice(1, -1) : json;
  return parseQuantity(goTrimSpace(inner));
}

/** The text for output and the wire: the parsed text if it is canonical enough, else the canonical form. */
export function quantityText(quantity: Quantity): string {
  return quantity.echo ?? canonicalQuantity(quantity);
}

/** The one canonical text of a number in its family: no fraction, the largest suffix that needs none. */
export function canonicalQuantity(quantity: Quantity): string {
  if (quantity.mantissa === 0n) return '0';
  if (quantity.format === 'BinarySI') {
    // Below 1Ki, and where a fraction would be lost, the binary family has no exact text; the decimal one has.
    const whole = wholeUnits(quantity);
    if (whole !== null && (whole >= 1024n || whole <= -1024n)) return binaryText(whole);
  }
  return decimalText(quantity, quantity.format === 'DecimalExponent');
}

export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return combine(a, b, 1n);
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return combine(a, b, -1n);
}

/** -1, 0 or 1; numeric, for any suffixes. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.scale === b.scale) return order(a.mantissa, b.mantissa);
  const scale = Math.min(a.scale, b.scale);
  return order(atScale(a, scale), atScale(b, scale));
}

export function quantitySign(quantity: Quantity): -1 | 0 | 1 {
  return order(quantity.mantissa, 0n);
}

export function isZeroQuantity(quantity: Quantity): boolean {
  return quantity.mantissa === 0n;
}

/** Whole units, rounded away from zero, so that a small request isn't lost. */
export function quantityValue(quantity: Quantity): bigint {
  return rounded(quantity, 0);
}

/** Thousandths, rounded away from zero. */
export function quantityMilliValue(quantity: Quantity): bigint {
  return rounded(quantity, -3);
}

/** The number at a power of ten, rounded away from zero. */
export function quantityScaledValue(quantity: Quantity, scale: number): bigint {
  return rounded(quantity, scale);
}

/** The exact integer where it was written as one and fits an int64; null for anything with a fraction part, even `.0` or `1000m`. */
export function exactInt64(quantity: Quantity): bigint | null {
  if (!quantity.small || quantity.scale < 0) return null;
  const value = quantity.mantissa * 10n ** BigInt(quantity.scale);
  return value > maxInt64 || value < minInt64 ? null : value;
}

function bad(kind: keyof typeof quantityErrors): QuantityParse {
  return { ok: false, error: quantityErrors[kind] };
}

interface Parts {
  readonly negative: boolean;
  /** Without leading zeros; `0` if there is no other digit. */
  readonly integer: string;
  readonly fraction: string;
  readonly suffix: string;
  /** False for texts like `-` or `.Ki`, which count as zero as long as no big decimal is needed for them. */
  readonly hasDigits: boolean;
}

const zeroCode = 48;
const nineCode = 57;
const dotCode = 46;
const plusCode = 43;
const minusCode = 45;
const suffixLetters = 'eEinumkKMGTP';

function skipDigits(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < zeroCode || code > nineCode) break;
  }
  return at;
}

/** Null when the text isn't of the form of the regular expression in the error text. */
function splitQuantity(text: string): Parts | null {
  const first = text.charCodeAt(0);
  const negative = first === minusCode;
  const start = negative || first === plusCode ? 1 : 0;
  let significant = start;
  while (text.charCodeAt(significant) === zeroCode) significant++;
  let at = skipDigits(text, significant);
  const integer = at === significant ? '0' : text.slice(significant, at);
  let hasDigits = at > start;
  let fraction = '';
  if (text.charCodeAt(at) === dotCode) {
    const end = skipDigits(text, at + 1);
    fraction = text.slice(at + 1, end);
    hasDigits ||= end > at + 1;
    at = end;
  }
  const suffixStart = at;
  while (at < text.length && suffixLetters.includes(text.charAt(at))) at++;
  const sign = text.charCodeAt(at);
  if (sign === plusCode || sign === minusCode) at++;
  if (skipDigits(text, at) !== text.length) return null;
  return { negative, integer, fraction, suffix: text.slice(suffixStart), hasDigits };
}

function interpretSuffix(text: string): Suffix | null {
  const known = knownSuffixes.get(text);
  if (known !== undefined) return known;
  if (!/^[eE][+-]?[0-9]+$/.test(text)) return null;
  const exponent = Number(text.slice(1));
  return exponent > maxExponent ? null : { base: 10, exponent, format: 'DecimalExponent' };
}

/** Numbers that fit an int64 for sure. Here, and only here, the text may be echoed. Null: the exact path has to do it. */
function parseFast(text: string, parts: Parts, suffix: Suffix): QuantityParse | null {
  const digits = parts.fraction === '' ? parts.integer : parts.integer + parts.fraction;
  if (suffix.base === 2) {
    // 2^10 has about 3 decimal digits; the integer may have the rest of 15 digits after the suffix.
    if (parts.fraction !== '' || digits.length > 14 - (suffix.exponent * 3) / 10) return null;
    const value = Number(digits);
    const mantissa = BigInt(value) << BigInt(suffix.exponent);
    return fast(parts, mantissa, 0, 'BinarySI', value % 8 !== 0 ? text : null);
  }
  const scale = suffix.exponent - parts.fraction.length;
  if (digits.length > int64Digits || scale < nano) return null;
  const canonicalEnough = scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
  const mantissa = digits.length <= 15 ? BigInt(Number(digits)) : BigInt(digits);
  return fast(parts, mantissa, scale, suffix.format, canonicalEnough ? text : null);
}

function fast(parts: Parts, magnitude: bigint, scale: number, format: QuantityFormat, echo: string | null): QuantityParse {
  return { ok: true, quantity: { mantissa: parts.negative ? -magnitude : magnitude, scale, format, echo, small: true } };
}

function parseExact(parts: Parts, suffix: Suffix): QuantityParse {
  if (!parts.hasDigits) return bad('numeric');
  let magnitude = BigInt(parts.integer + parts.fraction);
  let scale = -parts.fraction.length;
  let format = suffix.format;
  if (suffix.base === 10) scale += suffix.exponent;
  else magnitude <<= BigInt(suffix.exponent);
  if (scale < nano) {
    // Far below 1n no division is needed: any amount but zero becomes 1n.
    const finer = nano - scale;
    if (magnitude !== 0n) magnitude = finer > maxTextLength * 2 ? 1n : divideUp(magnitude, 10n ** BigInt(finer));
    scale = nano;
  }
  if (format === 'BinarySI') {
    const one = 10n ** BigInt(-scale);
    if (magnitude > maxInt64 * one) {
      magnitude = maxInt64;
      scale = 0;
    } else if (magnitude > 0n && magnitude < one) {
      format = 'DecimalSI';
    }
  }
  return { ok: true, quantity: { mantissa: parts.negative ? -magnitude : magnitude, scale, format, echo: null, small: false } };
}

function divideUp(magnitude: bigint, divisor: bigint): bigint {
  return (magnitude + divisor - 1n) / divisor;
}

function order(a: bigint, b: bigint): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0;
}

function atScale(quantity: Quantity, scale: number): bigint {
  return quantity.scale === scale ? quantity.mantissa : quantity.mantissa * 10n ** BigInt(quantity.scale - scale);
}

function combine(a: Quantity, b: Quantity, sign: 1n | -1n): Quantity {
  const scale = Math.min(a.scale, b.scale);
  const mantissa = atScale(a, scale) + sign * atScale(b, scale);
  // Zero's family doesn't matter: a sum that starts at 0 adopts its first term's.
  const format = a.mantissa === 0n ? b.format : a.format;
  return { mantissa, scale, format, echo: null, small: a.small && b.small && mantissa <= maxInt64 && mantissa >= minInt64 };
}

function rounded(quantity: Quantity, scale: number): bigint {
  if (quantity.scale >= scale) return atScale(quantity, scale);
  const divisor = 10n ** BigInt(scale - quantity.scale);
  return quantity.mantissa < 0n ? -divideUp(-quantity.mantissa, divisor) : divideUp(quantity.mantissa, divisor);
}

function wholeUnits(quantity: Quantity): bigint | null {
  if (quantity.scale >= 0) return atScale(quantity, 0);
  const divisor = 10n ** BigInt(-quantity.scale);
  return quantity.mantissa % divisor === 0n ? quantity.mantissa / divisor : null;
}

function binaryText(whole: bigint): string {
  let number = whole;
  let power = 0;
  while (power + 1 < binarySuffixes.length && number % 1024n === 0n) {
    number /= 1024n;
    power++;
  }
  return `${number}${binarySuffixes[power]}`;
}

/** Trailing zeros move into the exponent, which then becomes a multiple of 3. Suffixes end at E: larger numbers keep more digits before it. */
function decimalText(quantity: Quantity, exponential: boolean): string {
  const digits = quantity.mantissa.toString();
  const significant = digits.replace(/0+$/, '');
  const zeros = digits.length - significant.length + quantity.scale;
  const multipleOf3 = Math.floor(zeros / 3) * 3;
  const exponent = exponential ? multipleOf3 : Math.min(multipleOf3, 18);
  const number = significant + '0'.repeat(zeros - exponent);
  if (exponential) return exponent === 0 ? number : `${number}e${exponent}`;
  return number + decimalSuffixes[exponent / 3 + 3];
}
