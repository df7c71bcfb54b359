// Options of reading a container's log, the log's chunks, and the times of its lines.
import { epochMicros, instantOf } from './instant.js';
import { parseRfc3339 } from './time.js';

export type LogStream = 'stdout' | 'stderr';

export interface LogReadOptions {
  /** Lines from the end to start at, and, unless following, to stop after; null for all. */
  readonly tailLines: number | null;
  /** Bytes written in all, prefixes included; null for no limit. */
  readonly limitBytes: number | null;
  /** RFC 3339; skips older lines. null: all lines. */
  readonly since: string | null;
  /** Whether each line begins with its time. */
  readonly timestamps: boolean;
  readonly streams: readonly LogStream[];
  /** Whether to read later lines too. */
  readonly follow: boolean;
}

export interface LogChunk {
  readonly stream: LogStream;
  readonly bytes: Uint8Array;
}

/** A log line's time in nanoseconds, which are finer than the agent's clock. */
export interface LogTime {
  readonly micros: number;
  readonly nanos: number;
}

export function logTime(text: string): LogTime {
  return { micros: epochMicros(parseRfc3339(text) ?? instantOf(0)), nanos: Number(fractionOf(text).slice(6)) };
}

export function isBefore(a: LogTime, b: LogTime): boolean {
  return a.micros !== b.micros ? a.micros < b.micros : a.nanos < b.nanos;
}

/** Nine digits of a second. */
function fractionOf(text: string): string {
  return (/[.,](\d+)/.exec(text)?.[1] ?? '').slice(0, 9).padEnd(9, '0');
}

/** With nine digits of a second and in its own zone; UTC without an offset. */
export function timestampText(text: string): string {
  const zone = /(?:Z|[+-]\d{2}:\d{2})$/.exec(text)?.[0] ?? 'Z';
  return `${text.slice(0, 'YYYY-MM-DDThh:mm:ss'.length)}.${fractionOf(text)}${/^[+-]00:00$/.test(zone) ? 'Z' : zone}`;
}
