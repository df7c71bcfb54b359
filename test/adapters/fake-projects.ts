// The kernel's part of project quotas as a model: the projects of directories by path, limits, and failures that a test requests.
// A walk measures a directory's content, so that no count is made up.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DirectoryProject, DirectoryProjects, ProjectCount } from '../../src/adapters/native-linux/index.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';

export function walked(path: string): { usedBytes: number; inodesUsed: number } {
  const own = lstatSync(path);
  const below = own.isDirectory() ? readdirSync(path).map((name) => walked(join(path, name))) : [];
  return below.reduce((sum, one) => ({ usedBytes: sum.usedBytes + one.usedBytes, inodesUsed: sum.inodesUsed + one.inodesUsed }), {
    usedBytes: own.blocks * 512,
    inodesUsed: 1,
  });
}

/** A directory recreated under an old name is another one. */
function identityOf(path: string): string {
  const { ino, birthtimeNs } = lstatSync(path, { bigint: true });
  return `${ino}:${birthtimeNs}`;
}

export class FakeProjects implements DirectoryProjects {
  /** By `identityOf`. */
  private readonly projects = new Map<string, number>();
  readonly limits = new Map<number, bigint>();
  /** Numbers in use without a record. */
  readonly used = new Set<number>();
  readonly calls: string[] = [];
  unsupported: string | null = null;
  /** By operation, what its next calls fail with. */
  readonly failing = new Map<keyof DirectoryProjects, PortErrorKind>();
  /** How many files of a directory can't be given a project. */
  unchangeable = 0;

  async look(path: string): Promise<DirectoryProject | null> {
    this.called('look', path);
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
    const projectId = this.projectOf(path);
    const count: ProjectCount = this.unsupported === null ? { kind: 'counted', ...walked(path) } : { kind: 'unsupported', reason: this.unsupported };
    return { projectId, inherits: projectId !== 0, count };
  }

  projectOf(path: string): number {
    return this.projects.get(identityOf(path)) ?? 0;
  }

  setProject(path: string, projectId: number): void {
    this.projects.set(identityOf(path), projectId);
  }

  async isInUse(path: string, projectId: number): Promise<boolean> {
    this.called('isInUse', path, projectId);
    return this.used.has(projectId) || this.limits.has(projectId);
  }

  async assign(path: string, projectId: number, tree: boolean): Promise<number> {
    this.called('assign', path, projectId, tree);
    if (projectId === 0) this.projects.delete(identityOf(path));
    else this.projects.set(identityOf(path), projectId);
    return tree ? this.unchangeable : 0;
  }

  async limit(path: string, projectId: number, kibibytes: bigint): Promise<void> {
    this.called('limit', path, projectId, kibibytes);
    if (kibibytes === 0n) this.limits.delete(projectId);
    else this.limits.set(projectId, kibibytes);
  }

  private called(operation: keyof DirectoryProjects, path: string, ...rest: readonly unknown[]): void {
    const kind = this.failing.get(operation);
    if (kind !== undefined) throw new PortError({ kind, operation: `projects.${operation}`, subject: path, message: `${operation} ${path}: as the test wants it` });
    this.calls.push([operation, path.slice(path.lastIndexOf('/') + 1), ...rest.map(String)].join(' '));
  }
}
