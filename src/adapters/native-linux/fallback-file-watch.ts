// FileWatch without the addon: complete scans compared with the previous ones, every second and after each fs.watch event.
// fs.watch is only a hint here, since it silently drops events of a burst; the scan finds the changes.
// Invariant: the state of an entry when a scan begins is reported by that scan; an entry created and removed between two scans isn't seen.
import { type BigIntStats, type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FileChange, FileWatch, FileWatchEvent, FileWatchInterest, FileWatchListener } from '../../ports/outbound/file-watch.js';
import { PortError } from '../../ports/port-error.js';
import { closedError, portErrorFrom } from './errno.js';

const scanIntervalMs = 1000;
/** Waits for the rest of a burst. */
const hintDelayMs = 20;
/** Entries examined before the event loop gets its turn. */
const entriesPerTurn = 500;

interface ScannedPath {
  readonly identity: string;
  entries: Map<string, string>;
  hint: FSWatcher | null;
}

export class FallbackFileWatch implements FileWatch {
  readonly #listener: FileWatchListener;
  readonly #paths = new Map<string, ScannedPath>();
  readonly #interval: NodeJS.Timeout;
  #soon: NodeJS.Timeout | null = null;
  #scanning = false;
  #closed = false;

  constructor(listener: FileWatchListener) {
    this.#listener = listener;
    this.#interval = setInterval(() => this.#scanAll(), scanIntervalMs);
    this.#interval.unref();
  }

  add(path: string, interest: FileWatchInterest): void {
    if (this.#closed) throw closedError('FileWatch.add');
    if (interest === 'opened') {
      throw new PortError({ kind: 'unimplemented', message: `FileWatch.add ${path}: opens can't be seen without the native addon`, operation: 'FileWatch.add', subject: path });
    }
    try {
      const identity = identityOf(statSync(path));
      if (this.#paths.get(path)?.identity === identity) return;
      this.#forget(path);
      const scanned: ScannedPath = { identity, entries: new Map(), hint: null };
      // Before the scan: what changes during it stirs the next one.
      scanned.hint = this.#hintFor(path);
      this.#paths.set(path, scanned);
      for (const [name, state] of statesOf(path)) scanned.entries.set(name, state);
    } catch (error) {
      this.#forget(path);
      throw portErrorFrom(error, 'FileWatch.add', path);
    }
  }

  remove(path: string): void {
    this.#forget(path);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#interval);
    if (this.#soon !== null) clearTimeout(this.#soon);
    for (const path of [...this.#paths.keys()]) this.#forget(path);
  }

  #forget(path: string): void {
    this.#paths.get(path)?.hint?.close();
    this.#paths.delete(path);
  }

  /** null where the system has no watch left: the interval does alone then. */
  #hintFor(path: string): FSWatcher | null {
    try {
      const hint = watch(path, { persistent: false }, () => this.#scanSoon());
      hint.on('error', () => hint.close());
      return hint;
    } catch {
      return null;
    }
  }

  #scanSoon(): void {
    if (this.#soon !== null || this.#closed) return;
    this.#soon = setTimeout(() => {
      this.#soon = null;
      this.#scanAll();
    }, hintDelayMs);
    this.#soon.unref();
  }

  #scanAll(): void {
    if (this.#scanning || this.#closed) return;
    this.#scanning = true;
    this.#scan().then(
      () => {
        this.#scanning = false;
      },
      (error: unknown) => {
        this.#scanning = false;
        if (!this.#closed) this.#listener([{ kind: 'failed', message: String(error) }]);
        this.close();
      },
    );
  }

  async #scan(): Promise<void> {
    for (const [path, scanned] of [...this.#paths]) {
      const events: FileWatchEvent[] = [];
      const identity = currentIdentity(path);
      if (identity !== scanned.identity) {
        this.#forget(path);
        events.push({ kind: 'gone', path });
      } else {
        const entries = await entriesInTurns(path);
        // Removed or added again meanwhile.
        if (this.#paths.get(path) !== scanned) continue;
        for (const { name, change } of differences(scanned.entries, entries)) events.push({ kind: 'entry', path, name, change });
        scanned.entries = entries;
      }
      if (events.length > 0 && !this.#closed) this.#listener(events);
    }
  }
}

function identityOf(entry: Stats): string {
  return `${entry.dev}:${entry.ino}:${entry.birthtimeMs}`;
}

function currentIdentity(path: string): string | null {
  const entry = statSync(path, { throwIfNoEntry: false });
  return entry === undefined ? null : identityOf(entry);
}

/** The name and a text that differs between two states; a file has one entry with an empty name. Empty if absent. */
function* statesOf(path: string): Generator<readonly [name: string, state: string]> {
  const top = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (top === undefined) return;
  if (!top.isDirectory()) {
    yield ['', stateOf(top)];
    return;
  }
  for (const name of namesOf(path)) {
    const entry = lstatSync(`${path}/${name}`, { bigint: true, throwIfNoEntry: false });
    if (entry !== undefined) yield [name, stateOf(entry)];
  }
}

/** The inode comes first, separately: another one means a replaced entry. */
function stateOf(entry: BigIntStats): string {
  return `${entry.ino} ${entry.size}:${entry.mtimeNs}:${entry.ctimeNs}`;
}

async function entriesInTurns(path: string): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  for (const [name, state] of statesOf(path)) {
    entries.set(name, state);
    if (entries.size % entriesPerTurn === 0) await nextTurn();
  }
  return entries;
}

function namesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    // Removed between the two calls; the next scan reports it.
    return [];
  }
}

function* differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Generator<{ name: string; change: FileChange }> {
  for (const name of before.keys()) if (!after.has(name)) yield { name, change: 'deleted' };
  for (const [name, state] of after) {
    const old = before.get(name);
    if (old === state) continue;
    const replaced = old === undefined || old.split(' ', 1)[0] !== state.split(' ', 1)[0];
    yield { name, change: replaced ? 'created' : 'modified' };
  }
}
