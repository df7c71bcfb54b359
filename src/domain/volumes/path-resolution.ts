// Resolves a path with its symbolic links, from the known entries on the way.
// The number of required look-ups isn't known before, so each call returns the next entry that it needs; called again with it, it continues.
// Invariant: pure; the same knowledge gives the same question or answer, and a bounded number of links is followed.
import type { PathEntry } from '../../ports/outbound/pod-volumes.js';
import { cleanPath, joinPath, parentPath } from '../values/slash-paths.js';

/** By absolute, clean path without links in its parents. */
export type KnownEntries = ReadonlyMap<string, PathEntry>;

export interface Question {
  readonly kind: 'look';
  readonly path: string;
}

/** A resolution in progress: yields paths to inspect, and receives their entries. */
export type Looking<T> = Generator<string, T, PathEntry>;

export type Resolution =
  | { readonly kind: 'found'; readonly path: string; readonly type: 'directory' | 'file' | 'other' }
  /** `inside` is the directory that lacks `name`; it is the last element when `isLast`. */
  | { readonly kind: 'absent'; readonly inside: string; readonly name: string; readonly isLast: boolean }
  | { readonly kind: 'not-a-directory' | 'too-many-links' };

/** The limit of Linux. */
const maxLinks = 40;

/** Runs a decision on the known entries: returns its result, or the first missing entry. */
export function decide<T>(decision: Looking<T>, known: KnownEntries): Question | { readonly kind: 'decided'; readonly result: T } {
  let step = decision.next();
  while (!step.done) {
    const entry = known.get(step.value);
    if (entry === undefined) return { kind: 'look', path: step.value };
    step = decision.next(entry);
  }
  return { kind: 'decided', result: step.value };
}

/** Follows every link, the last element's too. @param path absolute */
export function* resolvePath(path: string): Looking<Resolution> {
  let rest = elementsOf(path);
  let at = '/';
  let type: 'directory' | 'file' | 'other' = 'directory';
  let links = 0;
  while (rest.length > 0) {
    const [element, ...others] = rest as [string, ...string[]];
    if (type !== 'directory') return { kind: 'not-a-directory' };
    rest = others;
    if (element === '.') continue;
    if (element === '..') {
      at = parentPath(at);
      continue;
    }
    const next = joinPath(at, element);
    const entry: PathEntry = yield next;
    if (entry.kind === 'absent') return { kind: 'absent', inside: at, name: element, isLast: others.every((other) => other === '.') };
    if (entry.kind === 'symlink') {
      if (++links > maxLinks) return { kind: 'too-many-links' };
      if (entry.target.startsWith('/')) at = '/';
      rest = [...elementsOf(entry.target), ...others];
    } else {
      at = next;
      type = entry.kind;
    }
  }
  return { kind: 'found', path: at, type };
}

/** Whether the path is the base or below it, by text alone. Both are absolute. */
export function isWithin(path: string, base: string): boolean {
  const clean = cleanPath(path);
  const root = cleanPath(base);
  return root === '/' || clean === root || clean.startsWith(`${root}/`);
}

function elementsOf(path: string): readonly string[] {
  return path.split('/').filter((element) => element !== '');
}
