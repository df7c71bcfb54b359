// Applies the pod's fsGroup to a volume's files.
// Invariant: permissions are only added, and only for the group; a file's owner isn't changed.

const readWrite = 0o660;
const readOnlyBits = 0o440;
const enterDirectory = 0o110;
const setGroupId = 0o2000;

/** The mode after the fsGroup walk. @param mode permission bits with set-id and sticky bits */
export function fsGroupMode(mode: number, type: 'file' | 'directory', volumeReadOnly: boolean): number {
  const added = volumeReadOnly ? readOnlyBits : readWrite;
  return type === 'directory' ? mode | added | enterDirectory | setGroupId : mode | added;
}

export interface RootFacts {
  readonly gid: number;
  readonly mode: number;
  readonly isDirectory: boolean;
}

/**
 * Whether the whole walk may be skipped (`fsGroupChangePolicy: OnRootMismatch`). The walk ends with the root, so a matching root proves that an earlier walk was
 * complete.
 * @param root null: it can't be examined
 */
export function maySkipFsGroupWalk(policy: string | null, root: RootFacts | null, fsGroup: number, volumeReadOnly: boolean): boolean {
  if (policy !== 'OnRootMismatch' || root === null || !root.isDirectory || root.gid !== fsGroup) return false;
  return fsGroupMode(root.mode, 'directory', volumeReadOnly) === root.mode;
}
