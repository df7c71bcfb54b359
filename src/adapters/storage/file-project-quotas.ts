// Projects of volumes' directories: chooses a number, records it in /etc/projects and /etc/projid, then sets it on the directory.
// Invariants: a number is recorded before the directory has it, and until the directory no longer has it; a number that other programs have
// recorded, use or limit is never taken; a directory of a project that isn't recorded for it stays unchanged.
import { lstatSync } from 'node:fs';
import { podsDirectory, podVolumeDirectory } from '../../domain/values/pod-directories.js';
import type { Call, PortOf } from '../../ports/operation.js';
import { firstProjectId, type ProjectQuotaOperations, type QuotaAssignment, type QuotaPlace } from '../../ports/outbound/project-quotas.js';
import type { DirectoryProjects, FileLock } from '../native-linux/index.js';
import { checkName } from './directory-handle.js';
import { carryOut, errnoName, FileRefusal } from './file-errors.js';
import { ProjectFiles } from './project-files.js';
import { asBytes, type ProjectTexts, recordedDirectories, recordedProjects, withDirectory, withoutDirectory } from './project-lines.js';

/** The same limit as in the Go kubelet. */
const usedNumbersMax = 128;
/** 2^58 bytes: more than any file system has. A limit keeps the kernel's record of an empty project. */
const boundlessKibibytes = 2n ** 48n - 1n;

export interface ProjectQuotaPaths {
  readonly rootDirectory: string;
  /** The directory of the files `projects` and `projid`: `/etc`. */
  readonly filesDirectory: string;
  /** How long another process may hold these files; default 5 s. */
  readonly lockPatienceMillis?: number;
}

export class FileProjectQuotas implements PortOf<ProjectQuotaOperations> {
  private readonly files: ProjectFiles;
  /** By directory, as recorded; null until the first read. */
  private known: Map<string, number> | null = null;
  private swept = false;

  constructor(
    private readonly paths: ProjectQuotaPaths,
    private readonly kernel: DirectoryProjects,
    locks: FileLock,
  ) {
    this.files = new ProjectFiles(paths.filesDirectory, locks, paths.lockPatienceMillis);
  }

  assign(place: QuotaPlace, call: Call): Promise<QuotaAssignment> {
    return carryOut('projectQuotas.assign', subjectOf(place), call, async () => {
      const path = this.pathOf(place);
      const seen = await this.kernel.look(path);
      if (seen === null) throw new FileRefusal('not-found', `${path}: no such directory`);
      if (seen.count.kind === 'unsupported') return seen.count;
      const foreign = (projectId: number | null) => seen.projectId !== 0 && seen.projectId !== projectId;
      if (foreign(this.recorded().get(path) ?? null)) return { kind: 'unsupported', reason: `${path} belongs to the project ${seen.projectId} already` };
      const projectId = await this.record(path);
      try {
        await this.kernel.limit(path, projectId, boundlessKibibytes);
        const failures = await this.kernel.assign(path, projectId, true);
        if (failures > 0) throw new FileRefusal('failed-precondition', `${path}: ${failures} files can't be given the project ${projectId}`);
      } catch (error) {
        await this.free(path, projectId).catch(() => null);
        throw error;
      }
      return { kind: 'assigned', projectId };
    });
  }

  clear(place: QuotaPlace, call: Call): Promise<null> {
    return carryOut('projectQuotas.clear', subjectOf(place), call, async () => {
      const path = this.pathOf(place);
      // From the file: another agent may have recorded it.
      this.known = null;
      const projectId = this.recorded().get(path);
      if (projectId !== undefined) await this.free(path, projectId);
      return null;
    });
  }

  usage(place: QuotaPlace, call: Call): Promise<ProjectQuotaOperations['usage']['reply']> {
    return carryOut('projectQuotas.usage', subjectOf(place), call, async () => {
      const path = this.pathOf(place);
      const projectId = this.recorded().get(path);
      if (projectId === undefined) return null;
      const seen = await this.kernel.look(path);
      if (seen?.projectId !== projectId || seen.count.kind !== 'counted') return null;
      const { usedBytes, inodesUsed } = seen.count;
      return { usedBytes, inodesUsed };
    });
  }

  /** The number recorded for the directory, from now on if it had none. */
  private async record(path: string): Promise<number> {
    let chosen = 0;
    await this.files.change(async (texts) => {
      const present = await this.withoutStale(texts);
      const before = recordedDirectories(present).find(({ directory }) => directory === asBytes(path));
      if (before !== undefined && before.projectId < firstProjectId) throw new FileRefusal('failed-precondition', `${path} is recorded for the project ${before.projectId}`);
      chosen = before?.projectId ?? (await this.freeNumber(path, recordedProjects(present)));
      return withDirectory(present, asBytes(path), chosen);
    });
    this.recorded().set(path, chosen);
    return chosen;
  }

  private async freeNumber(path: string, taken: ReadonlySet<number>): Promise<number> {
    let used = 0;
    for (let projectId = firstProjectId; used <= usedNumbersMax; projectId++) {
      if (taken.has(projectId)) continue;
      if (!(await this.kernel.isInUse(path, projectId))) return projectId;
      used++;
    }
    throw new FileRefusal('resource-exhausted', 'cannot find available quota ID');
  }

  /** Runs every step; the directory may be gone, and accounting may be off. */
  private async free(path: string, projectId: number): Promise<void> {
    const failures: unknown[] = [];
    const step = async (work: () => Promise<unknown>) => {
      await work().catch((error: unknown) => failures.push(error));
    };
    const isThere = isDirectory(path);
    await step(() => this.kernel.limit(isThere ? path : this.paths.rootDirectory, projectId, 0n));
    await step(async () => {
      const seen = isThere ? await this.kernel.look(path) : null;
      if (seen?.projectId === projectId) await this.kernel.assign(path, 0, false);
    });
    await step(() => this.files.change(async (texts) => withoutDirectory(texts, asBytes(path))));
    this.known?.delete(path);
    if (failures.length === 0) return;
    this.swept = false;
    throw failures[0];
  }

  /** Once a process, and after a failure: volumes that a killed agent's removal took with their project still recorded. */
  private async withoutStale(texts: ProjectTexts): Promise<ProjectTexts> {
    if (this.swept) return texts;
    const below = asBytes(`${podsDirectory(this.paths.rootDirectory)}/`);
    const stale = recordedDirectories(texts).filter((line) => line.projectId >= firstProjectId && line.directory.startsWith(below) && isGone(asPath(line.directory)));
    for (const { projectId } of stale) await this.kernel.limit(this.paths.rootDirectory, projectId, 0n);
    this.swept = true;
    return stale.reduce((present, { directory }) => withoutDirectory(present, directory), texts);
  }

  private recorded(): Map<string, number> {
    this.known ??= new Map(
      recordedDirectories({ projects: this.files.projects() }).flatMap((line) => (line.projectId < firstProjectId ? [] : [[asPath(line.directory), line.projectId]])),
    );
    return this.known;
  }

  private pathOf({ uid, plugin, volume }: QuotaPlace): string {
    const path = podVolumeDirectory(this.paths.rootDirectory, checkName(uid), checkName(plugin), checkName(volume));
    if (path.includes('\n')) throw new FileRefusal('invalid-argument', `${JSON.stringify(path)} can't be a line of a file`);
    return path;
  }
}

function subjectOf({ uid, plugin, volume }: QuotaPlace): string {
  return `${uid}/${plugin}/${volume}`;
}

function asPath(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isGone(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errnoName(error));
  }
}
