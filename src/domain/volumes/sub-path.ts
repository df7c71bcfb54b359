// `subPath` mounts: a part of a volume, created if missing, bound below the pod's directory, and torn down again.
// Containers of the pod can change the volume at any time, so the adapter opens paths element by element without following links.
// Invariant: nothing outside the volume is created or bound, even through links in the volume.

import type { SubPathStep, SubPathsOfVolume } from '../../ports/outbound/pod-volumes.js';
import { cleanPath, joinPath, parentPath } from '../values/slash-paths.js';
import { byCodeUnits } from '../values/text-order.js';
import { decide, isWithin, type KnownEntries, type Looking, type Question, resolvePath } from './path-resolution.js';

const bindParentMode = 0o750;
const bindFileMode = 0o640;
const subPathsName = 'volume-subpaths';

export interface Refused {
  readonly kind: 'refused';
  /** For logs; users only see that it failed. */
  readonly reason: string;
}
export interface Planned {
  readonly kind: 'planned';
  readonly steps: readonly SubPathStep[];
}

/** The runtime's path for the sub path of one volume mount. */
export function subPathTarget(podDirectory: string, volumeName: string, containerName: string, mountIndex: number): string {
  return joinPath(podDirectory, subPathsName, volumeName, containerName, String(mountIndex));
}

/** Whether the sub path is in the volume, links followed: `unknown` where that can't be found out. */
export function subPathPresence(volumePath: string, subPath: string, known: KnownEntries): Question | 'present' | 'absent' | 'unknown' {
  const decided = decide(resolvePath(joinPath(volumePath, subPath)), known);
  if (decided.kind === 'look') return decided;
  const { kind } = decided.result;
  return kind === 'found' ? 'present' : kind === 'absent' ? 'absent' : 'unknown';
}

/**
 * Makes the directories of a sub path that are missing.
 * @param mode of each new directory, with set-id and sticky bits: the volume root's
 */
export function planSubPathDirectory(volumePath: string, subPath: string, mode: number, known: KnownEntries): Question | Refused | Planned {
  const decided = decide(makeDirectory(volumePath, subPath, mode), known);
  return decided.kind === 'look' ? decided : decided.result;
}

function* makeDirectory(volumePath: string, subPath: string, mode: number): Looking<Refused | Planned> {
  const root = yield* resolvePath(volumePath);
  if (root.kind !== 'found') return refused(`the volume ${volumePath} can't be found`);
  const base = root.path;
  const path = joinPath(base, subPath);
  if (!isWithin(path, base)) return outside(path, base);
  const whole = yield* resolvePath(path);
  // An existing directory is accepted anywhere: the bind decides whether it is allowed.
  if (whole.kind === 'found') return whole.type === 'directory' ? { kind: 'planned', steps: [] } : refused(`${path} is not a directory`);
  if (whole.kind !== 'absent') return refused(`${path}: ${whole.kind}`);
  const elements = path
    .slice(base.length)
    .split('/')
    .filter((element) => element !== '');
  let existing = base;
  let present = 0;
  for (const element of elements) {
    const next = yield* resolvePath(joinPath(existing, element));
    if (next.kind !== 'found') break;
    existing = next.path;
    present++;
  }
  if (!isWithin(existing, base)) return outside(existing, base);
  const missing = elements.slice(present);
  // A link to nowhere is in the way of the directory that is to be made.
  const first = yield joinPath(existing, missing[0]!);
  if (first.kind !== 'absent') return refused(`${joinPath(existing, missing[0]!)} exists`);
  const steps = missing.map((_, i): SubPathStep => ({ operation: 'make-directory', root: base, path: joinPath(existing, ...missing.slice(0, i + 1)), mode }));
  return { kind: 'planned', steps };
}

export interface SubPathMount {
  readonly volumePath: string;
  readonly subPath: string;
  /** See `subPathTarget`. */
  readonly target: string;
}

/** What is mounted at the target: another file than the sub path's (by device and inode), the same, or none. */
export type TargetMount = 'none' | 'other-file' | 'same-file';

/** The planner needs a comparison of the target's mount with `source`. */
export interface MountQuestion {
  readonly kind: 'compare';
  readonly source: string;
  readonly target: string;
}

/** Binds a sub path to its target. @param mounted null while it isn't known */
export function planSubPathMount(mount: SubPathMount, known: KnownEntries, mounted: TargetMount | null): Question | MountQuestion | Refused | Planned {
  const decided = decide(bindable(mount), known);
  if (decided.kind === 'look') return decided;
  const bind = decided.result;
  if (bind.kind === 'refused') return bind;
  const { target } = mount;
  if (mounted === null) return { kind: 'compare', source: bind.source, target };
  if (mounted === 'same-file') return { kind: 'planned', steps: [] };
  const place: SubPathStep = bind.isDirectory
    ? { operation: 'ensure-directory', path: target, mode: bindParentMode }
    : { operation: 'ensure-file', path: target, mode: bindFileMode };
  return {
    kind: 'planned',
    steps: [
      // The file was replaced since the container's last run, for example by a new version of a ConfigMap.
      ...(mounted === 'other-file' ? [{ operation: 'unmount', path: target } as const] : []),
      { operation: 'ensure-directory', path: parentPath(target), mode: bindParentMode },
      place,
      { operation: 'bind', root: bind.root, source: bind.source, target },
    ],
  };
}

interface Bindable {
  readonly kind: 'bindable';
  readonly root: string;
  readonly source: string;
  readonly isDirectory: boolean;
}

function* bindable({ volumePath, subPath }: SubPathMount): Looking<Refused | Bindable> {
  const root = yield* resolvePath(volumePath);
  if (root.kind !== 'found' || root.type !== 'directory') return refused(`the volume ${volumePath} is no directory`);
  const found = yield* resolvePath(joinPath(volumePath, subPath));
  if (found.kind !== 'found') return refused(`${joinPath(volumePath, subPath)}: ${found.kind}`);
  if (!isWithin(found.path, root.path)) return outside(found.path, root.path);
  return { kind: 'bindable', root: root.path, source: found.path, isDirectory: found.type === 'directory' };
}

/**
 * Tears down all sub paths of a volume, in the order of names. The first step that fails ends it: the rest is user data or still in use.
 * @param present null if the volume has no sub paths
 */
export function planSubPathCleanup(podDirectory: string, volumeName: string, present: SubPathsOfVolume | null): readonly SubPathStep[] {
  if (present === null) return [];
  const directory = joinPath(podDirectory, subPathsName, volumeName);
  const steps: SubPathStep[] = [];
  // Other entries than directories are foreign: they stay, and make the removal of the volume's directory fail.
  for (const { name, entries } of [...present.containers].filter(({ isDirectory }) => isDirectory).sort((a, b) => byCodeUnits(a.name, b.name))) {
    const container = joinPath(directory, name);
    for (const entry of [...entries].sort((a, b) => byCodeUnits(a.name, b.name))) {
      const path = joinPath(container, entry.name);
      if (entry.isMounted) steps.push({ operation: 'unmount', path });
      steps.push({ operation: 'remove', path });
    }
    steps.push({ operation: 'remove', path: container });
  }
  return [...steps, { operation: 'remove', path: directory }, { operation: 'remove-if-empty', path: joinPath(podDirectory, subPathsName) }];
}

function outside(path: string, base: string): Refused {
  return refused(`path ${cleanPath(path)} is outside of allowed base ${base}`);
}

function refused(reason: string): Refused {
  return { kind: 'refused', reason };
}
