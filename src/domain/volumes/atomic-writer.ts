// Writes a payload into a volume directory atomically: as a new generation `..<time>.<digits>` to which the link `..data` is switched.
// Visible names are links through `..data`, so a reader sees the old files or the new ones, never a mixture.
// Invariant: after any step, `..data` leads to one complete payload, and the next plan cleans up the leftovers.
import type { Instant } from '../../ports/instant.js';
import { assert } from '../kernel/assert.js';
import { byCodeUnits } from '../values/text-order.js';
import { formatRfc3339 } from '../values/time.js';
import { checkedPayload, type VolumePayload } from './volume-payload.js';

const dataLinkName = '..data';
/** Never read: it exists only between being made and being renamed over the data link. */
const newDataLinkName = '..data_tmp';
const generationPattern = /^\.\.[0-9]{4}_[0-9]{2}_[0-9]{2}_[0-9]{2}_[0-9]{2}_[0-9]{2}\.[0-9]+$/;
/** Readable by every container user; each file's own mode limits access to it. */
const directoryMode = 0o755;

/** What reading one payload path in the present generation gave, links followed. */
export type FileReading =
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  /** `message` as the operating system words it, e.g. `read <path>: is a directory`. */
  | { readonly kind: 'failed'; readonly message: string };

/** An entry at the top of the volume directory, links not followed. */
export type VolumeEntry = { readonly kind: 'file' | 'directory' | 'other' } | { readonly kind: 'symlink'; readonly target: string };

/** The present state of the volume directory. */
export interface VolumeDirectory {
  /** Absolute; for messages. */
  readonly path: string;
  /** By name. */
  readonly entries: ReadonlyMap<string, VolumeEntry>;
  /** Every path below the target of `..data`, without following links; null: no such directory. */
  readonly generationPaths: readonly string[] | null;
  /** For each path of the payload. */
  readonly readings: ReadonlyMap<string, FileReading>;
}

/** One file operation; paths are relative to the volume directory. */
export type AtomicWriteStep =
  /** Exactly this mode, independent of the process's umask. */
  | { readonly operation: 'make-directory'; readonly path: string; readonly mode: number }
  /** A new file with exactly this mode, never through a link. */
  | { readonly operation: 'write-file'; readonly path: string; readonly bytes: Uint8Array; readonly mode: number }
  /** Of a link itself, not of its target. */
  | { readonly operation: 'change-owner'; readonly path: string; readonly uid: number }
  /** Everything below the volume directory and then itself, see `volume-ownership.ts`. */
  | { readonly operation: 'apply-fs-group'; readonly gid: number }
  | { readonly operation: 'make-symlink'; readonly path: string; readonly target: string }
  /** Replaces the file at `to`. */
  | { readonly operation: 'rename'; readonly from: string; readonly to: string }
  /** A link or file; absent is success. */
  | { readonly operation: 'remove-link'; readonly path: string }
  /** A directory with all below, following no link and crossing no mount point; absent is success. */
  | { readonly operation: 'remove-tree'; readonly path: string };

export type AtomicWritePlan =
  /** Nothing may be touched. */
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'steps';
      /** Name of the new generation; null: the payload is unchanged, and the steps only repair links. */
      readonly generation: string | null;
      readonly steps: readonly AtomicWriteStep[];
      /** Index of the step that switches the data link; -1 without a new generation. */
      readonly switchAt: number;
      /** For a failure at or before `switchAt`: restores the volume. */
      readonly undo: readonly AtomicWriteStep[];
    };

/** @param digits decimal digits that distinguish generations of one second */
export function generationName(wall: Instant, digits: string): string {
  return `..${formatRfc3339(wall).slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replace(/[-T:]/g, '_')}.${digits}`;
}

export function isGenerationName(name: string): boolean {
  return generationPattern.test(name);
}

/** The paths whose present content `planAtomicWrite` wants to know; empty for a payload that it will refuse. */
export function comparedPaths(payload: VolumePayload): readonly string[] {
  const checked = checkedPayload(payload);
  return checked.ok ? [...checked.payload.keys()].sort(byCodeUnits) : [];
}

/**
 * The steps that update the volume to this payload.
 * @param fsGroup group of the new files; null: none
 */
export function planAtomicWrite(payload: VolumePayload, directory: VolumeDirectory, generation: string, fsGroup: number | null): AtomicWritePlan {
  assert(isGenerationName(generation) && !directory.entries.has(generation), 'a new generation has a name of its own');
  const checked = checkedPayload(payload);
  if (!checked.ok) return { kind: 'refused', message: checked.message };
  const files = new Map([...checked.payload].sort(([a], [b]) => byCodeUnits(a, b)));
  const wanted = withParents(files.keys());
  const clash = [...files.keys()].find((path) => wanted.parents.has(path));
  if (clash !== undefined) return { kind: 'refused', message: `open ${directory.path}/${generation}/${clash}: is a directory` };
  if ((directory.entries.get(dataLinkName)?.kind ?? 'symlink') !== 'symlink') return { kind: 'refused', message: `readlink ${directory.path}/${dataLinkName}: invalid argument` };
  const failed = directory.generationPaths === null ? undefined : [...files.keys()].map((path) => directory.readings.get(path)).find((reading) => reading?.kind === 'failed');
  if (failed?.kind === 'failed') return { kind: 'refused', message: failed.message };
  const stale = (directory.generationPaths ?? []).filter((path) => !wanted.all.has(path));
  const changes = directory.generationPaths === null || stale.length > 0 || [...files].some(([path, { bytes }]) => !reads(directory.readings.get(path), bytes));
  const tidying = tidySteps(wanted.all, directory);
  const links = linkSteps(files, directory);
  const staleLink: AtomicWriteStep[] = directory.entries.has(newDataLinkName) ? [removeLink(newDataLinkName)] : [];
  if (!changes) return { kind: 'steps', generation: null, steps: [...staleLink, ...links, ...tidying], switchAt: -1, undo: [] };
  const build = [...staleLink, ...generationSteps(files, wanted.parents, generation, fsGroup)];
  return {
    kind: 'steps',
    generation,
    steps: [...build, { operation: 'rename', from: newDataLinkName, to: dataLinkName }, ...links, ...tidying, ...formerGeneration(directory)],
    switchAt: build.length,
    undo: [removeLink(newDataLinkName), removeTree(generation)],
  };
}

/** The payload's paths, and those of all directories they need. */
function withParents(paths: Iterable<string>): { readonly all: ReadonlySet<string>; readonly parents: ReadonlySet<string> } {
  const all = new Set<string>();
  const parents = new Set<string>();
  for (const path of paths) {
    all.add(path);
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) parents.add(path.slice(0, slash));
  }
  return { all: new Set([...all, ...parents]), parents };
}

function reads(reading: FileReading | undefined, bytes: Uint8Array): boolean {
  return reading?.kind === 'file' && reading.bytes.length === bytes.length && reading.bytes.every((byte, i) => byte === bytes[i]);
}

/** The whole new generation, and the link that is about to become the data link. */
function generationSteps(files: VolumePayload, parents: ReadonlySet<string>, generation: string, fsGroup: number | null): readonly AtomicWriteStep[] {
  const steps: AtomicWriteStep[] = [{ operation: 'make-directory', path: generation, mode: directoryMode }];
  for (const parent of [...parents].sort(byCodeUnits)) steps.push({ operation: 'make-directory', path: `${generation}/${parent}`, mode: directoryMode });
  for (const [path, { bytes, mode, fsUser }] of files) {
    steps.push({ operation: 'write-file', path: `${generation}/${path}`, bytes, mode });
    if (fsUser !== null) steps.push({ operation: 'change-owner', path: `${generation}/${path}`, uid: fsUser });
  }
  // Before the switch: no reader may meet a file that its group can't read yet.
  if (fsGroup !== null) steps.push({ operation: 'apply-fs-group', gid: fsGroup });
  steps.push({ operation: 'make-symlink', path: newDataLinkName, target: generation });
  return steps;
}

/** Missing visible names. An existing file of such a name stays and hides the payload's entry (for example a nested mount point). */
function linkSteps(files: VolumePayload, directory: VolumeDirectory): readonly AtomicWriteStep[] {
  const steps: AtomicWriteStep[] = [];
  const seen = new Set<string>();
  for (const [path, { fsUser }] of files) {
    const name = path.split('/', 1)[0]!;
    if (seen.has(name) || directory.entries.has(name)) continue;
    seen.add(name);
    steps.push({ operation: 'make-symlink', path: name, target: `${dataLinkName}/${name}` });
    if (fsUser !== null) steps.push({ operation: 'change-owner', path: name, uid: fsUser });
  }
  return steps;
}

/** Visible names that lead to nothing any more, and generations that a crash left behind. Links of others stay. */
function tidySteps(wanted: ReadonlySet<string>, directory: VolumeDirectory): readonly AtomicWriteStep[] {
  const names = [...directory.entries.keys()].sort(byCodeUnits);
  const current = dataLinkOf(directory);
  const unlinked = names.filter((name) => !wanted.has(name) && linkTarget(directory, name) === `${dataLinkName}/${name}`);
  const leftover = names.filter((name) => generationPattern.test(name) && name !== current);
  return [...unlinked.map(removeLink), ...leftover.map(removeTree)];
}

/** Only a directory that is certainly a generation of the writer: a link to another place must not remove foreign files. */
function formerGeneration(directory: VolumeDirectory): readonly AtomicWriteStep[] {
  const former = dataLinkOf(directory);
  return former !== null && generationPattern.test(former) && directory.entries.get(former)?.kind === 'directory' ? [removeTree(former)] : [];
}

function dataLinkOf(directory: VolumeDirectory): string | null {
  return linkTarget(directory, dataLinkName);
}

function linkTarget({ entries }: VolumeDirectory, name: string): string | null {
  const entry = entries.get(name);
  return entry?.kind === 'symlink' ? entry.target : null;
}

function removeLink(path: string): AtomicWriteStep {
  return { operation: 'remove-link', path };
}

function removeTree(path: string): AtomicWriteStep {
  return { operation: 'remove-tree', path };
}
