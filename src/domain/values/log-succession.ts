// The files of one log in the order in which they were written, for a follower: the current one, and later ones.
// A rotation moves the log aside as `<log>.<time>`, a later one compresses that file to `<log>.<time>.gz`, and the oldest are removed.
//
// Invariants: a file is followed by its identity (or its beginning once it is compressed), not by its name; nothing is read twice;
// a file that is removed before it was read is counted at its position.
import { byCodeUnits } from './text-order.js';

const compressedSuffix = '.gz';
const unfinishedSuffix = '.tmp';

/** A file beside the log, or the log itself. */
export interface LogEntry {
  readonly name: string;
  /** The same as long as the file exists, under any name. */
  readonly identity: string;
  /** Of the uncompressed content. */
  readonly sizeBytes: number;
}

/** The gap at one position of the log. */
export interface MissingLog {
  readonly files: number;
  /** As last seen: they may have had more. */
  readonly bytes: number;
  /** Files may have been written and removed between two listings. */
  readonly mayBeMore: boolean;
}

export const nothingMissing: MissingLog = { files: 0, bytes: 0, mayBeMore: false };

export interface FollowedLog {
  readonly identity: string;
  readonly name: string;
  readonly sizeBytes: number;
  /** Its beginning, as text of one character a byte; '' if it has only blanks and NULs, null while unknown. */
  readonly head: string | null;
  /** Between the file before and this one. */
  readonly missing: MissingLog;
}

export interface LogSuccession {
  /** The name of the log, without its directory. */
  readonly logName: string;
  readonly current: FollowedLog;
  /** Oldest first; the last one is the log itself, unless that was not there. */
  readonly pending: readonly FollowedLog[];
  /** Rotated files that this reader skips, without `.gz`: those from before its start, and those it has read. */
  readonly passed: ReadonlySet<string>;
  /** After the last known file. */
  readonly missing: MissingLog;
}

/** The current file is at the log's name, or was when all of the entries were there. */
export function startLogSuccession(logName: string, current: LogEntry, entries: readonly LogEntry[]): LogSuccession {
  const passed = new Set(rotatedEntries(logName, entries).map(({ name }) => stemOf(name)));
  return { logName, current: { ...current, head: null, missing: nothingMissing }, pending: [], passed, missing: nothingMissing };
}

export function newestLog({ current, pending }: LogSuccession): FollowedLog {
  return pending.at(-1) ?? current;
}

/** Moves on to the next file. null: none. */
export function advanceLog(succession: LogSuccession): LogSuccession | null {
  const [next, ...pending] = succession.pending;
  if (next === undefined) return null;
  const stem = stemOf(succession.current.name);
  return { ...succession, current: next, pending, passed: stem === succession.logName ? succession.passed : new Set([...succession.passed, stem]) };
}

/** The beginning of a file, which it is found by once it is compressed. */
export function withHead(succession: LogSuccession, identity: string, head: string): LogSuccession {
  const changed = (file: FollowedLog): FollowedLog => (file.identity === identity ? { ...file, head } : file);
  return { ...succession, current: changed(succession.current), pending: succession.pending.map(changed) };
}

/** The newest file has grown. */
export function resized(succession: LogSuccession, { identity, sizeBytes }: LogEntry): LogSuccession {
  const changed = (file: FollowedLog): FollowedLog => (file.identity === identity ? { ...file, sizeBytes } : file);
  return { ...succession, current: changed(succession.current), pending: succession.pending.map(changed) };
}

/** Compressed files of which the beginning must be known to see which file they were. */
export function unidentifiedLogs(succession: LogSuccession, entries: readonly LogEntry[]): readonly string[] {
  const identities = new Set(entries.map(({ identity }) => identity));
  const lost = followed(succession).filter(({ identity, name }) => name === succession.logName && !identities.has(identity));
  return lost.length === 0 ? [] : newEntries(succession, entries).flatMap(({ name }) => (isCompressed(name) ? [name] : []));
}

/**
 * Updates the succession from the log's directory.
 * @param heads the beginnings of the files of `unidentifiedLogs`, by name
 */
export function observeLogs(succession: LogSuccession, entries: readonly LogEntry[], heads: ReadonlyMap<string, string>): LogSuccession {
  const { logName } = succession;
  const fresh = [...newEntries(succession, entries)];
  const seenAgain = followed(succession).map((file) => foundAgain(file, succession, entries, fresh, heads));
  const current = seenAgain[0] ?? succession.current;
  const pending: FollowedLog[] = [];
  let { missing } = succession;
  for (const [i, file] of succession.pending.entries()) {
    const found = seenAgain[i + 1];
    if (found != null) {
      pending.push({ ...found, missing: sum(found.missing, missing) });
      missing = nothingMissing;
    } else missing = sum(missing, sum(file.missing, file.head === '' ? nothingMissing : { files: 1, bytes: file.sizeBytes, mayBeMore: file.head === null }));
  }
  // If the newest file is removed, later files may be removed, too.
  if (seenAgain.at(-1) == null) missing = { ...missing, mayBeMore: true };
  const log = entries.find(({ name }) => name === logName);
  const known = new Set([current, ...pending].map(({ identity }) => identity));
  const added = log === undefined || known.has(log.identity) ? fresh : [...fresh, log];
  for (const entry of added) {
    pending.push({ ...entry, head: null, missing });
    missing = nothingMissing;
  }
  const waiting = new Set(pending.map(({ name }) => stemOf(name)));
  const stems = rotatedEntries(logName, entries).map(({ name }) => stemOf(name));
  // A listing during a compression may show neither name of the file: the known ones stay.
  const passed = new Set([...stems.filter((stem) => !waiting.has(stem)), ...succession.passed].slice(0, stems.length + passedMax));
  return { logName, current, pending, passed, missing };
}

/** Maximum number of remembered names that are no longer listed. */
const passedMax = 64;

function followed({ current, pending }: LogSuccession): readonly FollowedLog[] {
  return [current, ...pending];
}

/** null: removed. Removes a file with a new name from `fresh`. */
function foundAgain(file: FollowedLog, { logName }: LogSuccession, entries: readonly LogEntry[], fresh: LogEntry[], heads: ReadonlyMap<string, string>): FollowedLog | null {
  const entry = entries.find(({ identity }) => identity === file.identity);
  if (entry !== undefined) {
    take(fresh, entry.name);
    return { ...file, name: entry.name, sizeBytes: entry.sizeBytes };
  }
  if (file.name !== logName) {
    const compressed = entries.find(({ name }) => name === stemOf(file.name) + compressedSuffix);
    return compressed === undefined ? null : { ...file, ...compressed };
  }
  const { head } = file;
  const same = head === '' ? undefined : fresh.find(({ name }) => isCompressed(name) && (head === null || heads.get(name)?.startsWith(head) === true));
  if (same === undefined) return null;
  take(fresh, same.name);
  // Moved and compressed before it could be inspected: most likely it is the oldest new one.
  return { ...file, ...same, missing: head === null ? sum(file.missing, { ...nothingMissing, mayBeMore: true }) : file.missing };
}

function take(fresh: LogEntry[], name: string): void {
  const at = fresh.findIndex((entry) => stemOf(entry.name) === stemOf(name));
  if (at >= 0) fresh.splice(at, 1);
}

/** Rotated files that this reader has not seen, oldest first. */
function newEntries(succession: LogSuccession, entries: readonly LogEntry[]): readonly LogEntry[] {
  const known = new Set([...succession.passed, ...followed(succession).map(({ name }) => stemOf(name))]);
  return rotatedEntries(succession.logName, entries).filter(({ name }) => !known.has(stemOf(name)));
}

/** Oldest first, each once: of a file in both forms, the uncompressed one. */
function rotatedEntries(logName: string, entries: readonly LogEntry[]): readonly LogEntry[] {
  const byStem = new Map<string, LogEntry>();
  for (const entry of entries) {
    if (entry.name === logName || !isOfLog(entry.name, logName)) continue;
    const stem = stemOf(entry.name);
    if (!byStem.has(stem) || !isCompressed(entry.name)) byStem.set(stem, entry);
  }
  return [...byStem].sort(([a], [b]) => byCodeUnits(a, b)).map(([, entry]) => entry);
}

function sum(a: MissingLog, b: MissingLog): MissingLog {
  return { files: a.files + b.files, bytes: a.bytes + b.bytes, mayBeMore: a.mayBeMore || b.mayBeMore };
}

/** The log itself and its rotated files; one in compression is listed twice, and counts once. */
export function isOfLog(name: string, logName: string): boolean {
  return name === logName || (name.startsWith(`${logName}.`) && !name.endsWith(unfinishedSuffix));
}

export function isCompressed(name: string): boolean {
  return name.endsWith(compressedSuffix);
}

function stemOf(name: string): string {
  return isCompressed(name) ? name.slice(0, -compressedSuffix.length) : name;
}

/** The text in the place of missing logs; null: none are missing. */
export function missingLogText({ files, bytes, mayBeMore }: MissingLog): string | null {
  if (files === 0 && bytes === 0 && !mayBeMore) return null;
  const removed = files === 1 ? '1 rotated file was removed before it was read' : `${files} rotated files were removed before they were read`;
  const why = files > 0 ? removed : bytes > 0 ? 'the file was emptied before they were read' : 'rotated files were removed between two looks at them';
  return bytes > 0 ? `at least ${bytes} bytes of the log are missing here: ${why}\n` : `log lines may be missing here: ${why}\n`;
}
