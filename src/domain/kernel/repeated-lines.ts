// Which warnings and errors a log shows: the first of its kind at once, then at most one in five minutes, with how many were left out.
// What fails persistently is retried for hours: without this each retry is a line, and the lines that matter are lost among them.
//
// Lines are of one kind when level, message and what they are about (their fields of text but `err`) are equal. The error itself doesn't
// count: it may name processes, times or sizes that are others with each try.
// Invariants: lines are delayed by nothing and a new kind of line is always shown; at most `kindsMax` kinds are remembered, and one more for each message.
import type { Micros } from '../../ports/micros.js';
import type { LogLevel } from './machine.js';

/** How long after a line the next one of its kind is shown. */
export const repeatInterval: Micros = 5 * 60 * 1_000_000;
const kindsMax = 4096;

export interface RepeatedLine {
  /** When the last one was shown. */
  readonly shownAt: Micros;
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
  const before = lines.get(kind);
  if (before !== undefined && now - before.shownAt < interval) {
    lines.set(kind, { shownAt: before.shownAt, leftOut: before.leftOut + 1 });
    return null;
  }
  lines.delete(kind);
  lines.set(kind, { shownAt: now, leftOut: 0 });
  return before?.leftOut ?? 0;
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
