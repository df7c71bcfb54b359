// RFC 3339 text to and from Instant, without the host's Date: the proleptic Gregorian calendar, UTC on output.
// Invariant: `parseRfc3339` reads the output of `formatRfc3339Micros` back unchanged.
import type { Instant } from '../../ports/instant.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import { epochMicros, instantOf } from './instant.js';

export const microsPerMillisecond = 1_000;
export const microsPerSecond = 1_000_000;
export const microsPerMinute = 60_000_000;
const secondsPerDay = 86_400;

const pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** null when the text is no RFC 3339 time or names a day that doesn't exist. Digits below a microsecond are dropped. */
export function parseRfc3339(text: string): Instant | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const field = (group: number): number => Number(match[group]);
  const [year, month, day, hour, minute, second] = [field(1), field(2), field(3), field(4), field(5), field(6)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) || hour > 23 || minute > 59 || second > 59) return null;
  let seconds = daysSinceEpoch(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second;
  if (match[8] !== undefined) {
    if (field(9) > 23 || field(10) > 59) return null;
    const offset = field(9) * 3600 + field(10) * 60;
    seconds += match[8] === '+' ? -offset : offset;
  }
  const micros = Number((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
  return instantOf(seconds * microsPerSecond + micros);
}

/** As the API prints `Time`: whole seconds, rounded down, UTC, e.g. `2026-01-01T00:00:00Z`. */
export function formatRfc3339(time: Instant): Timestamp {
  return `${formatSeconds(Math.floor(epochMicros(time) / microsPerSecond))}Z`;
}

/** As the API prints `MicroTime` (leases, events): always six digits of a second. */
export function formatRfc3339Micros(time: Instant): Timestamp {
  const micros = epochMicros(time);
  const seconds = Math.floor(micros / microsPerSecond);
  return `${formatSeconds(seconds)}.${String(micros - seconds * microsPerSecond).padStart(6, '0')}Z`;
}

/** Caches the last two seconds: one moment's time is formatted in many places, beside that of a beginning. */
let lastSecond = { seconds: Number.NaN, text: '' };
let secondBefore = lastSecond;

function formatSeconds(seconds: number): string {
  if (lastSecond.seconds === seconds) return lastSecond.text;
  if (secondBefore.seconds === seconds) {
    [lastSecond, secondBefore] = [secondBefore, lastSecond];
    return lastSecond.text;
  }
  const days = Math.floor(seconds / secondsPerDay);
  const rest = seconds - days * secondsPerDay;
  const text = `${dateText(days)}T${two(Math.floor(rest / 3600))}:${two(Math.floor((rest % 3600) / 60))}:${two(rest % 60)}`;
  secondBefore = lastSecond;
  lastSecond = { seconds, text };
  return text;
}

/** The last date: most times of a node are of one day. */
let lastDate = { days: Number.NaN, text: '' };

function dateText(days: number): string {
  if (lastDate.days !== days) {
    const { year, month, day } = dateOfDays(days);
    lastDate = { days, text: `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}` };
  }
  return lastDate.text;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

// The calendar is counted from 1 March, so that the leap day is the last of its year, in eras of 400 years, after which all repeats.
const daysPerEra = 146_097;
/** Days from 0000-03-01 to 1970-01-01. */
const epochOffset = 719_468;

function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return era * daysPerEra + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - epochOffset;
}

function dateOfDays(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + epochOffset;
  const era = Math.floor(shifted / daysPerEra);
  const dayOfEra = shifted - era * daysPerEra;
  const yearOfEra = Math.floor((dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = ((monthFromMarch + 2) % 12) + 1;
  return { year: era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1 };
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
