// Projects of directories, and the kernel's accounting of them, on ext4 and XFS.
// Invariants: missing support of a file system, the kernel or this build is a value that says so; errors are port errors, absent is null.
import { PortError } from '../../ports/port-error.js';
import { errno } from './errno.js';

/** `reason`: why there is no accounting, for users. */
export type ProjectCount = { readonly kind: 'counted'; readonly usedBytes: number; readonly inodesUsed: number } | { readonly kind: 'unsupported'; readonly reason: string };

export interface DirectoryProject {
  /** 0: none. */
  readonly projectId: number;
  /** New entries in the directory belong to the project as well. */
  readonly inherits: boolean;
  readonly count: ProjectCount;
}

export interface DirectoryProjects {
  /** null: no such directory; a link is none. */
  look(path: string): Promise<DirectoryProject | null>;
  /** Whether anything on the path's file system belongs to the project, or a limit is set for it. */
  isInUse(path: string, projectId: number): Promise<boolean>;
  /** Of the directory, with `tree` of all files and directories in it, too. 0: none. Returns the number that could not be changed. */
  assign(path: string, projectId: number, tree: boolean): Promise<number>;
  /** The project's limit in KiB; 0n: unlimited. Without accounting no limit is set or removed. */
  limit(path: string, projectId: number, kibibytes: bigint): Promise<void>;
}

/** Magic numbers of statfs(2), of the file systems whose project quotas the Go kubelet supports. */
const fileSystems: ReadonlyMap<bigint, string> = new Map([
  [0xef53n, 'ext4'],
  [0x58465342n, 'XFS'],
]);

const refusals: ReadonlyMap<number, string> = new Map([
  [errno.ENOSYS, 'this kernel counts no quotas for it'],
  [errno.ESRCH, 'project quotas are not turned on (mount option prjquota)'],
  [errno.EINVAL, 'it has no project quotas'],
  [errno.EOPNOTSUPP, 'it has no projects'],
  [errno.ENOTTY, 'it has no projects'],
  [errno.ENODEV, 'it is on no block device'],
  // ENOTBLK, which Node has no name for.
  [15, 'it is on no block device'],
]);

/** Why a file system has no project quotas, by the error number of a request; null: another error. */
export function quotaRefusal(number: number): string | null {
  return refusals.get(number) ?? null;
}

/** The file system's name if it is one that quotas are used on. */
export function quotaFileSystem(type: bigint): string | null {
  return fileSystems.get(type) ?? null;
}

/** For hosts without support or permission for directory projects. */
export function noDirectoryProjects(reason: string): DirectoryProjects {
  const refused = (operation: string) => async (path: string) => {
    throw new PortError({ kind: 'unimplemented', operation: `projects.${operation}`, subject: path, message: `${path}: ${reason}` });
  };
  return {
    look: async () => ({ projectId: 0, inherits: false, count: { kind: 'unsupported', reason } }),
    isInUse: refused('isInUse'),
    assign: refused('assign'),
    limit: refused('limit'),
  };
}

/** Without the addon. */
export const fallbackDirectoryProjects = noDirectoryProjects('project quotas need the native addon');
