// A column of a table, and how ages are written in one.
import { epochMicros } from '../../../domain/values/instant.js';
import { parseRfc3339 } from '../../../domain/values/time.js';
import type { Micros } from '../../../ports/micros.js';
import type { StoredObject } from '../object-store.js';

export interface Column {
  readonly name: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  readonly cell: (object: StoredObject, now: Micros) => string | number;
}

/** How long ago, in one or two units, as kubectl prints ages. */
export function age(time: unknown, now: Micros): string {
  const then = typeof time === 'string' ? parseRfc3339(time) : null;
  if (then === null) return '<unknown>';
  const seconds = Math.floor((now - epochMicros(then)) / 1_000_000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)];
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  return `${Math.floor(days / 365)}y${days % 365 === 0 ? '' : `${days % 365}d`}`;
}
