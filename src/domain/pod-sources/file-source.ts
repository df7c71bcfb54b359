// The file source: keeps the pods of the manifest path up to date with a watch, and with a listing at intervals in any case.
// States: `off` (no path) | unwatched -> watched (a watch is armed), back on gone, failed and a refused watch.
// One command is in flight at a time. Order of work: arm the watch, list, read single changed files: so no change in between is missed.
// Invariant: the watch only makes it faster. Without one, every change is found by the next listing.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { FileWatchEvent } from '../../ports/outbound/file-watch.js';
import type { ManifestListing, ManifestOperations } from '../../ports/outbound/manifests.js';
import type { Outcome } from '../../ports/port-error.js';
import { nextPause } from '../backoff/doubled-pause.js';
import type { Address, ReplyTo, Turn } from '../kernel/machine.js';
import { clearStore, type ManifestStore, type ManifestStoreSettings, newManifestStore, podsOfStore, removeFile, takeFile, takeListing } from './manifest-store.js';

export interface FileSourceSettings extends ManifestStoreSettings {
  /** The manifest directory, or one file; trailing slashes don't matter. */
  readonly path: string;
  /** Time between listings (fileCheckFrequency). */
  readonly checkPeriod: Micros;
}

export interface FileSourceState {
  readonly settings: FileSourceSettings;
  readonly store: ManifestStore;
  isWatched: boolean;
  /** Not before this the watch is tried again. */
  watchRetryAt: Micros;
  /** Grows while the watch is refused for want of a system resource or a permission. */
  watchBackoff: Micros;
  nextListAt: Micros;
  /** Changed files to be read, in the order they were met. */
  readonly changed: Set<string>;
  /** Single files have changed pods that were not sent yet: a burst (an editor's save) is sent as one. */
  isDirty: boolean;
  /** The last complaint about the path itself. */
  complaint: string;
}

/** The interface of the source to its step. */
export interface FileSourceContext {
  readonly turn: Turn<ManifestOperations>;
  /** Takes the complete list of pods. */
  emit(pods: readonly Pod[]): void;
}

export const fileSourceAddress: Address = { machine: 'file-source', key: '' };
const slot = 'work';
/** The interval between checks for a missing path. */
const absentRetry: Micros = 1_000_000;
const maxWatchBackoff: Micros = 20_000_000;
/** More single files than this, and one listing is cheaper. */
const maxChanged = 200;

export function newFileSource(settings: FileSourceSettings): FileSourceState {
  const path = settings.path.length > 1 ? settings.path.replace(/\/+$/, '') || '/' : settings.path;
  return {
    settings: { ...settings, path },
    store: newManifestStore(),
    isWatched: false,
    watchRetryAt: 0,
    watchBackoff: absentRetry,
    nextListAt: 0,
    changed: new Set(),
    isDirty: false,
    complaint: '',
  };
}

/** At the start and on each wake-up: runs one due task at a time. */
export function runFileSource(state: FileSourceState, context: FileSourceContext): void {
  const { turn } = context;
  const { path } = state.settings;
  if (turn.inFlight(fileSourceAddress, slot)) return;
  if (!state.isWatched && turn.now >= state.watchRetryAt) {
    turn.ask('manifestDirectory.watch', fileSourceAddress, slot, { path });
  } else if (turn.now >= state.nextListAt) {
    state.changed.clear();
    turn.ask('manifestDirectory.list', fileSourceAddress, slot, { path });
  } else {
    const [next] = state.changed;
    if (next !== undefined) {
      state.changed.delete(next);
      turn.ask('manifestDirectory.readFile', fileSourceAddress, slot, { path: next });
    }
  }
  turn.wakeAt(fileSourceAddress, turn.inFlight(fileSourceAddress, slot) ? null : nextWake(state));
}

function nextWake(state: FileSourceState): Micros {
  return state.isWatched ? state.nextListAt : Math.min(state.nextListAt, state.watchRetryAt);
}

/** Takes watch events. They are only hints: the files are read again. */
export function manifestsChanged(state: FileSourceState, events: readonly FileWatchEvent[], context: FileSourceContext): void {
  for (const event of events) {
    switch (event.kind) {
      case 'entry':
        if (event.name === '') state.nextListAt = 0;
        else if (!event.name.startsWith('.')) noteChanged(state, event);
        break;
      case 'lost':
        state.nextListAt = 0;
        break;
      case 'gone':
      case 'failed':
        // The path was replaced, moved or unmounted: watch the new path, then list it.
        if (event.kind === 'failed') context.turn.log('warn', 'the watch of the manifest path failed, it is listed instead', { path: state.settings.path, err: event.message });
        state.isWatched = false;
        state.watchRetryAt = 0;
        state.nextListAt = 0;
        break;
    }
  }
  runFileSource(state, context);
}

function noteChanged(state: FileSourceState, event: Extract<FileWatchEvent, { kind: 'entry' }>): void {
  const path = event.path.endsWith('/') ? `${event.path}${event.name}` : `${event.path}/${event.name}`;
  // Moved to the end: it changed after the command in flight.
  state.changed.delete(path);
  state.changed.add(path);
  if (state.changed.size > maxChanged) state.nextListAt = 0;
}

export const fileSourceOperations = ['manifestDirectory.watch', 'manifestDirectory.list', 'manifestDirectory.readFile'] as const;

export function fileSourceReplied(state: FileSourceState, reply: ReplyTo<ManifestOperations, (typeof fileSourceOperations)[number]>, context: FileSourceContext): void {
  switch (reply.op) {
    case 'manifestDirectory.watch':
      watchReplied(state, reply.outcome, context);
      break;
    case 'manifestDirectory.list':
      listReplied(state, reply.outcome, context);
      break;
    case 'manifestDirectory.readFile':
      if (reply.outcome.ok) {
        const { isChanged, lines } = takeFile(state.store, reply.outcome.value, state.settings);
        for (const line of lines) context.turn.log(line.level, line.text);
        state.isDirty ||= isChanged;
      } else {
        complain(state, context, `can't read a manifest: ${reply.outcome.error.message}`);
        state.nextListAt = Math.min(state.nextListAt, context.turn.now + absentRetry);
      }
  }
  if (state.isDirty && state.changed.size === 0) send(state, context);
  runFileSource(state, context);
}

function send(state: FileSourceState, context: FileSourceContext): void {
  state.isDirty = false;
  context.emit(podsOfStore(state.store));
}

function watchReplied(state: FileSourceState, outcome: Outcome<null>, context: FileSourceContext): void {
  const { now } = context.turn;
  if (outcome.ok) {
    state.isWatched = true;
    state.watchBackoff = absentRetry;
    // What happened before the watch was armed has left no event.
    state.nextListAt = 0;
    return;
  }
  const { kind, message } = outcome.error;
  if (kind === 'not-found') {
    state.watchRetryAt = now + absentRetry;
    state.nextListAt = 0;
    return;
  }
  const hint = kind === 'resource-exhausted' ? ' (fs.inotify.max_user_instances or fs.inotify.max_user_watches is used up)' : '';
  if (state.watchBackoff === absentRetry) {
    context.turn.log('warn', `can't watch the manifest path, changes are found by listing it${hint}`, { path: state.settings.path, err: message });
  }
  state.watchRetryAt = now + state.watchBackoff;
  state.watchBackoff = nextPause(state.watchBackoff, absentRetry, maxWatchBackoff);
}

function listReplied(state: FileSourceState, outcome: Outcome<ManifestListing>, context: FileSourceContext): void {
  state.nextListAt = context.turn.now + state.settings.checkPeriod;
  if (!outcome.ok) {
    // Unknown is not absent: the pods stay.
    complain(state, context, `unable to read the manifest path: ${outcome.error.message}`);
    return;
  }
  const listing = outcome.value;
  switch (listing.kind) {
    case 'absent':
      complain(state, context, 'path does not exist, ignoring: static pods of this path are stopped');
      clearStore(state.store);
      break;
    case 'other':
      complain(state, context, 'path is not a directory or file');
      return;
    case 'directory': {
      state.complaint = '';
      for (const line of takeListing(state.store, listing.files, state.settings)) context.turn.log(line.level, line.text);
      break;
    }
    case 'file':
      if (!takeSingleFile(state, listing, context)) return;
      break;
  }
  send(state, context);
}

/** False: no new set, since an unreadable file leaves its pod as it was. */
function takeSingleFile(state: FileSourceState, listing: Extract<ManifestListing, { kind: 'file' }>, context: FileSourceContext): boolean {
  const { file } = listing;
  state.complaint = '';
  // From a directory that had this name before.
  for (const path of [...state.store.files.keys()]) if (path !== file.path) removeFile(state.store, path);
  const { lines } = takeFile(state.store, file, state.settings);
  for (const line of lines) context.turn.log(line.level, line.text);
  return file.content.kind === 'absent' || state.store.files.get(file.path)?.content === file.content;
}

/** Logs a complaint once, until another one follows. */
function complain(state: FileSourceState, context: FileSourceContext, text: string): void {
  if (state.complaint === text) return;
  state.complaint = text;
  context.turn.log('error', text, { path: state.settings.path });
}
