// Durations as Go prints and parses them (`2m40s`, `1.5s`, `500ms`), the form users know from the kubelet's messages and configuration.
// Invariant: parseGoDuration(formatGoDuration(d)) === d for every whole number of microseconds.
import type { Micros } from '../../ports/micros.js';

const microsPerSecond = 1_000_000;

/** Go's `time.Duration.String()`: no leading zero units, at least seconds from one second on, fractions without trailing zeros. */
export function formatGoDuration(duration: Micros): string {
  if (duration === 0) return '0s';
  const sign = duration < 0 ? '-' : '';
  const micros = Math.abs(duration);
  if (micros < 1000) return `${sign}${micros}µs`;
  if (micros < microsPerSecond) return `${sign}${fraction(micros, 1000)}ms`;
  const seconds = fraction(micros % (60 * microsPerSecond), microsPerSecond);
  const minutes = Math.floor(micros / (60 * microsPerSecond));
  if (minutes === 0) return `${sign}${seconds}s`;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${hours}h${minutes % 60}m${seconds}s`;
}

function fraction(micros: number, unit: number): string {
  const rest = micros % unit;
  const whole = Math.floor(micros / unit).toString();
  if (rest === 0) return whole;
  const digits = unit.toString().length - 1;
  return `${whole}.${rest.toString().padStart(digits, '0').replace(/0+$/, '')}`;
}

const unitMicros: Readonly<Record<string, number>> = { ns: 0.001, us: 1, µs: 1, μs: 1, ms: 1000, s: microsPerSecond, m: 60 * microsPerSecond, h: 3600 * microsPerSecond };

/** Go's `time.ParseDuration`, cut to whole microseconds; null for a text that is no duration or that passes int64 nanoseconds. */
export function parseGoDuration(text: string): Micros | null {
  const match = /^([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (match === null) return null;
  let micros = 0;
  for (const [, amount, unit] of (match[2] as string).matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    micros += partMicros(amount as string, unitMicros[unit as string] as number);
  }
  // int64 nanoseconds end at 9223372036854775.8 µs; this is the last double before that.
  const maxMicros = 9_223_372_036_854_774;
  if (micros > maxMicros) return null;
  const whole = Math.floor(micros);
  return match[1] === '-' && whole !== 0 ? -whole : whole;
}

/** Whole part and fraction apart, so that `1.1s` is 1100000 and not a rounding error away from it. */
function partMicros(amount: string, unit: number): number {
  const [whole, decimals] = amount.split('.');
  const fractionMicros = decimals === undefined || decimals === '' ? 0 : (Number(decimals) * unit) / 10 ** decimals.length;
  return Number(whole) * unit + (unit >= 1 ? Math.floor(fractionMicros) : fractionMicros);
}
