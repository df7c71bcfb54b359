// Limits repeated warnings and errors in a log: the first of a kind at once, then at most one in five minutes, with the number of omitted lines.
// A persistent failure is retried for hours: without a limit its lines would hide all others.
//
// Lines are of one kind if their level, message and text fields except `err` are equal. A kind whose error changes is shown again, since a failure
// with another reason is news, but numbers in errors don't count: process IDs, times and sizes change with each retry.
// Invariants: no line is delayed and a new kind of line is always shown; at most `kindsMax` kinds are remembered, and one more for each message;
// at most `errorsMax` different errors of one kind are shown in one interval.
import type { Micros } from '../../ports/micros.js';
import type { LogLevel } from './machine.js';

/** The minimum time between two lines of one kind. */
export const repeatInterval: Micros = 5 * 60 * 1_000_000;
const kindsMax = 4096;
const errorsMax = 8;
const errorLengthMax = 256;

export interface RepeatedLine {
  /** When the first one of this interval was shown. */
  readonly shownAt: Micros;
  /** The errors that were shown in this interval, without their numbers. */
  readonly errors: readonly string[];
  /** How many were left out since. */
  readonly leftOut: number;
}

/** Plain data, changed in place by the function below; in the order in which lines were last shown. */
export type RepeatedLines = Map<string, RepeatedLine>;

/** Counts a line. @param interval between shown lines of a kind @returns how many of its kind were left out since the last one that was shown; null: this one is left out */
export function countLine(
  lines: RepeatedLines,
  now: Micros,
  level: LogLevel,
  message: string,
  fields: Readonly<Record<string, unknown>>,
  interval = repeatInterval,
): number | null {
  if (level !== 'error' && level !== 'warn') return 0;
  const kind = kindToCount(lines, now, `${level} ${message}`, fields);
  const error = errorOf(fields);
  const before = lines.get(kind);
  if (before !== undefined && now - before.shownAt < interval) {
    if (!before.errors.includes(error) && before.errors.length < errorsMax) {
      lines.set(kind, { shownAt: before.shownAt, errors: [...before.errors, error], leftOut: 0 });
      return before.leftOut;
    }
    lines.set(kind, { ...before, leftOut: before.leftOut + 1 });
    return null;
  }
  lines.delete(kind);
  lines.set(kind, { shownAt: now, errors: [error], leftOut: 0 });
  return before?.leftOut ?? 0;
}

/** The error of a line without what changes from one retry to the next: numbers, and identifiers with digits. */
function errorOf({ err }: Readonly<Record<string, unknown>>): string {
  return typeof err === 'string' ? err.replace(/[\w-]*\d[\w-]*/g, '#').slice(0, errorLengthMax) : '';
}

/** The fields of a line that is shown. */
export function withRepeats<Fields extends Readonly<Record<string, unknown>>>(fields: Fields, leftOut: number): Fields {
  return leftOut === 0 ? fields : { ...fields, repeated: leftOut };
}

/** The line's kind; where too many are remembered, its message alone, which all that fail in this way share. */
function kindToCount(lines: RepeatedLines, now: Micros, message: string, fields: Readonly<Record<string, unknown>>): string {
  let kind = message;
  for (const [name, value] of Object.entries(fields)) if (name !== 'err' && typeof value === 'string') kind += `\n${name}=${value}`;
  if (lines.has(kind)) return kind;
  for (const [oldest, { shownAt }] of lines) {
    if (lines.size < kindsMax || now - shownAt < repeatInterval) break;
    lines.delete(oldest);
  }
  return lines.size < kindsMax ? kind : message;
}
