// Decides the actions on the rotated files of a container's log before the log itself is moved aside, and the log's new name.
// Invariant: with the newly opened log, at most the allowed number of files stay; the newest rotated one is not
// compressed before the next rotation, since a reader may still have it open.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import { instantAfter } from '../values/instant.js';
import { byCodeUnits } from '../values/text-order.js';
import { formatRfc3339Micros, microsPerSecond } from '../values/time.js';

const compressedSuffix = '.gz';
const unfinishedSuffix = '.tmp';
/** The current log, and the rotated one that it is about to become. */
const filesBesideOldOnes = 2;

export interface LogRotationPolicy {
  /** A log of this size or more is rotated. */
  readonly maxSizeBytes: number;
  /** Files that stay of one log, with the log itself; 2 or more. */
  readonly maxFiles: number;
  /** Logs that are rotated at a time. */
  readonly maxWorkers: number;
  readonly monitorInterval: Micros;
}

export interface RotatedFilesPlan {
  /** Partly compressed files, files with a compressed copy, and the oldest beyond the limit. */
  readonly discard: readonly string[];
  /** In order of age. */
  readonly compress: readonly string[];
}

/** @param names the files beside the log that begin with its name and a dot */
export function planRotatedFiles(names: readonly string[], maxFiles: number): RotatedFilesPlan {
  const present = new Set(names);
  const inUse = names.filter((name) => isInUse(name, present)).sort(byCodeUnits);
  const kept = inUse.slice(Math.max(0, inUse.length - Math.max(0, maxFiles - filesBesideOldOnes)));
  const keeps = new Set(kept);
  return { discard: names.filter((name) => !keeps.has(name)).sort(byCodeUnits), compress: kept.filter((name) => !name.endsWith(compressedSuffix)) };
}

/** `<log>.<YYYYMMDD-HHMMSS>` in the host's local time. */
export function rotatedLogName(logName: string, wall: Instant, utcOffsetSeconds: number): string {
  const [date = '', time = ''] = formatRfc3339Micros(instantAfter(wall, utcOffsetSeconds * microsPerSecond)).split('T');
  return `${logName}.${date.replaceAll('-', '')}-${time.slice(0, 'hh:mm:ss'.length).replaceAll(':', '')}`;
}

function isInUse(name: string, present: ReadonlySet<string>): boolean {
  if (name.endsWith(unfinishedSuffix)) return false;
  return name.endsWith(compressedSuffix) || !present.has(name + compressedSuffix);
}
