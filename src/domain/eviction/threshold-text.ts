// A configured eviction threshold: a quantity, or a percentage of its signal's capacity.
// Invariant: an accepted threshold is positive and at most the whole; percentages are single precision, as in the Go kubelet.
import { goQuote, goTrimRight } from '../values/go-text.js';
import { parseQuantity, type Quantity, quantitySign, quantityText } from '../values/quantity.js';
import { isEvictionSignal } from './signals.js';

export type ThresholdValue = { readonly kind: 'quantity'; readonly quantity: Quantity } | { readonly kind: 'fraction' /** Single precision. */; readonly fraction: number };

export type ThresholdParse =
  | { readonly ok: true; readonly value: ThresholdValue }
  /** `0%` and `100%` switch a threshold off. */
  | { readonly ok: true; readonly value: null }
  | { readonly ok: false; readonly error: string };

/** Reads the threshold of one signal. */
export function parseThreshold(signal: string, text: string): ThresholdParse {
  const refuse = (error: string): ThresholdParse => ({ ok: false, error });
  if (!isEvictionSignal(signal)) return refuse(`unsupported eviction signal ${signal}`);
  if (text === '0%' || text === '100%') return { ok: true, value: null };
  if (text.endsWith('%')) {
    const parsed = parsePercentage(text);
    if (!parsed.ok) return parsed;
    if (parsed.fraction < 0) return refuse(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (parsed.fraction > 1) return refuse(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { ok: true, value: { kind: 'fraction', fraction: parsed.fraction } };
  }
  const parsed = parseQuantity(text);
  if (!parsed.ok) return refuse(parsed.error);
  if (quantitySign(parsed.quantity) <= 0) return refuse(`eviction threshold ${signal} must be positive: ${quantityText(parsed.quantity)}`);
  return { ok: true, value: { kind: 'quantity', quantity: parsed.quantity } };
}

const maxSingle = 3.4028234663852886e38;
/** Longer texts are no number anyone writes; up to here a hexadecimal one has no more digits than a double can scale. */
const maxLiteralLength = 200;

/** The number before all trailing percent signs, as a fraction; a float literal. */
export function parsePercentage(text: string): { readonly ok: true; readonly fraction: number } | { readonly ok: false; readonly error: string } {
  const literal = goTrimRight(text, '%');
  if (literal.length > maxLiteralLength) return { ok: false, error: `strconv.ParseFloat: parsing ${goQuote(literal.slice(0, maxLiteralLength))}: invalid syntax` };
  if (/^[-+]?inf(?:inity)?$/i.test(literal)) return { ok: true, fraction: literal.startsWith('-') ? -Infinity : Infinity };
  const number = floatOf(literal);
  if (number === null) return { ok: false, error: `strconv.ParseFloat: parsing ${goQuote(literal)}: invalid syntax` };
  const value = Math.fround(number);
  if (Math.abs(value) > maxSingle) return { ok: false, error: `strconv.ParseFloat: parsing ${goQuote(literal)}: value out of range` };
  return { ok: true, fraction: Math.fround(value / 100) };
}

const decimalFloat = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;
const hexFloat = /^([-+]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([-+]?[0-9]+)$/;

/** Null for an invalid literal. Allows underscores between digits, and after the prefix of hexadecimal ones. */
function floatOf(literal: string): number | null {
  const decimal = literal.replace(/(?<=[0-9])_(?=[0-9])/g, '');
  if (decimalFloat.test(decimal)) return Number(decimal);
  const hex = literal.replace(/(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])/g, '');
  const [, sign, whole = '', fraction = '', exponent] = hexFloat.exec(hex) ?? [];
  if (whole + fraction === '') return null;
  const digits = Number(`0x${whole}${fraction}`);
  const magnitude = digits === 0 ? 0 : digits * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -magnitude : magnitude;
}

/** The shortest decimal that is this single precision number: 0.1, not 0.10000000149011612. */
export function shortestSingle(value: number): number {
  const single = Math.fround(value);
  for (let digits = 1; digits <= 9; digits++) {
    const rounded = Number(single.toPrecision(digits));
    if (Math.fround(rounded) === single) return rounded;
  }
  return single;
}
