// Durations as Go prints and parses them (`2m40s`, `1.5s`, `500ms`), the form in the kubelet's messages and configuration.
// The configuration has nanoseconds; the agent has microseconds.
// Invariant: parseGoDuration(formatGoDuration(d)) === d for every whole number of microseconds.
import type { Micros } from '../../ports/micros.js';
import { type GoParse, goQuote } from './go-text.js';

/** A duration in nanoseconds. A number: exact below 104 days, and above for all durations in practical use. */
export type Nanoseconds = number;

const minute = 60_000_000_000n;
const hour = 60n * minute;
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: minute,
  h: hour,
};
export const nanosPerMicrosecond = 1_000;
export const nanosPerMillisecond = 1_000_000;
export const nanosPerSecond = 1_000_000_000;
export const nanosPerMinute = 60 * nanosPerSecond;
export const nanosPerHour = 60 * nanosPerMinute;

const maxInt64 = 2n ** 63n - 1n;
/** No duration needs more; converting n digits costs n^2. */
const maxTextLength = 1024;

/** Reads a duration; each number but a bare `0` needs a unit. The errors are those of Go's time package. */
export function parseDuration(text: string): GoParse<Nanoseconds> {
  const parsed = parseNanos(text);
  return parsed.ok ? { ok: true, value: Number(parsed.value) } : parsed;
}

/** The one canonical text: `1m0s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(nanos: Nanoseconds): string {
  return formatNanos(BigInt(nanos));
}

/** Cut to whole microseconds; null for a text that is no duration or that passes int64 nanoseconds. */
export function parseGoDuration(text: string): Micros | null {
  const parsed = parseNanos(text);
  return parsed.ok ? Number(parsed.value / 1_000n) : null;
}

export function formatGoDuration(duration: Micros): string {
  return formatNanos(BigInt(duration) * 1_000n);
}

function parseNanos(text: string): GoParse<bigint> {
  const invalid: GoParse<never> = { ok: false, error: `time: invalid duration ${goQuote(text)}` };
  const negative = text.startsWith('-');
  let rest = text.replace(/^[-+]/, '');
  if (rest === '0') return { ok: true, value: 0n };
  if (rest === '' || rest.length > maxTextLength) return invalid;
  let total = 0n;
  while (rest !== '') {
    const number = /^([0-9]*)(?:\.([0-9]*))?/.exec(rest) as RegExpExecArray;
    const whole = number[1] as string;
    const fraction = number[2] ?? '';
    if (whole === '' && fraction === '') return invalid;
    rest = rest.slice(number[0].length);
    const unit = (/^[^.0-9]*/.exec(rest) as RegExpExecArray)[0];
    if (unit === '') return { ok: false, error: `time: missing unit in duration ${goQuote(text)}` };
    const nanos = Object.hasOwn(units, unit) ? units[unit] : undefined;
    if (nanos === undefined) return { ok: false, error: `time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}` };
    rest = rest.slice(unit.length);
    total += BigInt(whole === '' ? '0' : whole) * nanos;
    if (fraction !== '') total += (BigInt(fraction) * nanos) / 10n ** BigInt(fraction.length);
    if (total > maxInt64 + (negative ? 1n : 0n)) return invalid;
  }
  return { ok: true, value: negative ? -total : total };
}

function formatNanos(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const magnitude = nanos < 0n ? -nanos : nanos;
  if (magnitude < 1_000n) return `${sign}${magnitude}ns`;
  if (magnitude < 1_000_000n) return `${sign}${withFraction(magnitude, 1_000n)}\u00b5s`;
  if (magnitude < 1_000_000_000n) return `${sign}${withFraction(magnitude, 1_000_000n)}ms`;
  const hours = magnitude / hour;
  const minutes = (magnitude / minute) % 60n;
  const seconds = `${withFraction(magnitude % minute, 1_000_000_000n)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** Rounded towards zero: the agent's clock has no finer unit. */
export function microsOfNanos(nanos: Nanoseconds): Micros {
  return Math.trunc(nanos / nanosPerMicrosecond);
}

function withFraction(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`;
}
