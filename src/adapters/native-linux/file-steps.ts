// Lists of small steps on files and directories that run in sequence without blocking the event loop: all disk operations of a pod's start or
// end in one call. A list is built here and run by a `FileStepRunner`, the addon's or the fallback's.
// Invariants, the same for both: a directory is a slot, an entry one name in it that is never followed if it is a link; the first failure that
// a step doesn't tolerate ends the list; a step in an absent directory is skipped; all descriptors are closed afterwards.
import { constants } from 'node:os';

/** The numbers of FileStepKind in native/file_steps.h. */
export const fileStepKinds = {
  enter: 1,
  makeDirectory: 2,
  look: 3,
  list: 4,
  read: 5,
  create: 6,
  replace: 7,
  write: 8,
  unlink: 9,
  removeDirectory: 10,
  rename: 11,
  link: 12,
  readLink: 13,
  removeTree: 14,
  removeDirectories: 15,
  noMountBelow: 16,
} as const;

export type FileStepKind = keyof typeof fileStepKinds;

/** Failures that don't end the list: ENOENT, EEXIST, all. */
export const tolerated = { nothing: 0, absent: 1, present: 2, both: 3, anything: 4 } as const;

/** A directory that is open while the list is carried out. */
export type Slot = number;
/** A step's place in its list. */
export type StepIndex = number;

/** Names are absolute paths. */
export const byPath: Slot = -1;
/** The status of a step that wasn't done. */
export const notDone = -constants.errno.ECANCELED;
/** Of `number` in `removeTree`. */
export const removesFilesBit = 65_536;

export interface FileStep {
  readonly kind: FileStepKind;
  readonly directory: Slot;
  readonly tolerated: number;
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** A directory that is open already. */
export interface StepRoot {
  readonly descriptor: number;
  /** For messages. */
  readonly path: string;
}

export class FileSteps {
  readonly steps: FileStep[] = [];
  private readonly paths: string[];

  /** @param roots slots 0 and following */
  constructor(readonly roots: readonly StepRoot[]) {
    this.paths = roots.map(({ path }) => path);
  }

  /** The path of a step, for messages. */
  pathOf({ directory, name }: FileStep): string {
    return directory === byPath ? name : `${this.paths[directory] ?? ''}/${name}`;
  }

  /** The directory of that name; ELOOP for a link. Steps in an absent one are skipped, if `absent` is tolerated. */
  enter(directory: Slot, name: string, tolerates: number = tolerated.nothing): Slot {
    this.add('enter', directory, tolerates, 0, name);
    return this.paths.push(`${this.paths[directory] ?? ''}/${name}`) - 1;
  }

  makeDirectory(directory: Slot, name: string, mode: number, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('makeDirectory', directory, tolerates, mode, name);
  }

  /** Makes the directory if absent, and enters it. */
  ensure(directory: Slot, name: string, mode: number): Slot {
    this.makeDirectory(directory, name, mode, tolerated.present);
    return this.enter(directory, name);
  }

  /** Status: the entry's st_mode. */
  look(directory: Slot, name: string, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('look', directory, tolerates, 0, name);
  }

  /** Text: see `listedEntries`. @param name '' for the directory itself */
  list(directory: Slot, name: string, directoriesOnly: boolean, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('list', directory, tolerates, directoriesOnly ? 1 : 0, name);
  }

  /** Text: the content of a regular file. EINVAL for anything else, EFBIG above `bytesMax`. */
  read(directory: Slot, name: string, bytesMax: number, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('read', directory, tolerates, bytesMax, name);
  }

  /** A new file with exactly this mode, independent of the umask. */
  create(directory: Slot, name: string, mode: number, content: string, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('create', directory, tolerates, mode, name, content);
  }

  /** Written beside it and renamed over it, status 1; 0: it held the same with the same mode, and was left. Not flushed to the disk. One writer a file. */
  replace(directory: Slot, name: string, mode: number, content: string): StepIndex {
    return this.add('replace', directory, tolerated.nothing, mode, name, content);
  }

  /** Into an existing file, in one write: for files of the kernel. */
  write(directory: Slot, name: string, content: string, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('write', directory, tolerates, 0, name, content);
  }

  unlink(directory: Slot, name: string, tolerates: number = tolerated.absent): StepIndex {
    return this.add('unlink', directory, tolerates, 0, name);
  }

  /** Only an empty one. */
  removeDirectory(directory: Slot, name: string, tolerates: number = tolerated.absent): StepIndex {
    return this.add('removeDirectory', directory, tolerates, 0, name);
  }

  rename(directory: Slot, from: string, to: string): StepIndex {
    return this.add('rename', directory, tolerated.nothing, 0, from, to);
  }

  link(directory: Slot, name: string, target: string, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('link', directory, tolerates, 0, name, target);
  }

  /** Text: the target. */
  readLink(directory: Slot, name: string, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('readLink', directory, tolerates, 0, name);
  }

  /**
   * Removes an entry and everything below it, nothing on another mount (EBUSY). Directories `levels` deep are entered, those below must be empty; a
   * file ends it (ENOTDIR) unless files are removed, too. Succeeds if absent. Text: the entry that couldn't be removed.
   */
  removeTree(directory: Slot, name: string, levels: number, removesFiles: boolean, tolerates: number = tolerated.nothing): StepIndex {
    return this.add('removeTree', directory, tolerates, levels + (removesFiles ? removesFilesBit : 0), name);
  }

  /** Directories whose files don't count and are removed with them: cgroups. Status 1: removed; 0: it, or one below it, is busy. */
  removeDirectories(directory: Slot, name: string, levels: number): StepIndex {
    return this.add('removeDirectories', directory, tolerated.nothing, levels, name);
  }

  /** EBUSY when something is mounted on that path, as the kernel names it, or below it. Text: where. */
  noMountBelow(path: string): StepIndex {
    return this.add('noMountBelow', byPath, tolerated.nothing, 0, path);
  }

  private add(kind: FileStepKind, directory: Slot, tolerates: number, number: number, name: string, text = ''): StepIndex {
    this.steps.push({ kind, directory, tolerated: tolerates, number, name, text });
    return this.steps.length - 1;
  }
}

/** The outcome of a list: a status (0 and more, negative errno, `notDone`) and a text of each step. */
export class FileStepOutcomes {
  constructor(
    private readonly statuses: ArrayLike<number>,
    private readonly texts: readonly string[],
  ) {}

  status(step: StepIndex): number {
    return this.statuses[step] ?? notDone;
  }

  text(step: StepIndex): string {
    return this.texts[step] ?? '';
  }

  /** The step that ended the list, or whose failure would have; null: no such step. */
  failed({ steps }: FileSteps): StepIndex | null {
    const found = steps.findIndex((step, index) => !isTolerated(this.status(index), step.tolerated) && this.status(index) !== notDone);
    return found < 0 ? null : found;
  }
}

export interface FileStepRunner {
  /** Rejects only if the list can't begin. Lists may run concurrently; the steps of one never do. */
  run(list: FileSteps): Promise<FileStepOutcomes>;
}

export function isTolerated(status: number, tolerates: number): boolean {
  if (status >= 0 || (tolerates & tolerated.anything) !== 0) return true;
  return (status === -constants.errno.ENOENT && (tolerates & tolerated.absent) !== 0) || (status === -constants.errno.EEXIST && (tolerates & tolerated.present) !== 0);
}

export interface ListedEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** From the text of `list`. */
export function listedEntries(text: string): ListedEntry[] {
  return text === '' ? [] : text.split('/').map((entry) => ({ name: entry.slice(1), isDirectory: entry.startsWith('d') }));
}
