// Files and cgroups that the agent keeps on the node for a pod.
import type { CgroupValues } from '../model/cgroup-values.js';
import type { Operation } from '../operation.js';

/** The pod's directories under the kubelet's root. Paths come from the domain; the adapter refuses any that leave the root. */
export interface PodDirectoryOperations {
  /** Makes the pod's directory with its `volumes` and `plugins`. Idempotent. */
  readonly prepare: Operation<{ readonly uid: string }, null>;
  /** Prepares one container's creation: makes its log directory and its termination file. Returns the file's path, '' for none. */
  readonly prepareContainer: Operation<ContainerFiles, { readonly terminationFile: string }>;
  /** UIDs that have a directory. */
  readonly list: Operation<null, readonly string[]>;
  /** Removes the pod's directory, never through a mount: `failed-precondition` while something is mounted in it. Absent: succeeds. */
  readonly remove: Operation<{ readonly uid: string }, null>;
  /** Writes the pod's hosts file whole. */
  readonly writeHosts: Operation<{ readonly uid: string; readonly text: string }, null>;
  /** Writes the file with the ids of the pod's user namespace atomically; on the disk when it answers. Makes the pod's directory if absent. */
  readonly writeUserNamespace: Operation<{ readonly uid: string; readonly text: string }, null>;
  /** Those files of all pods that have one, sorted by uid. A file that can't be read is no failure: it is named with why. */
  readonly readUserNamespaces: Operation<null, readonly UserNamespaceFile[]>;
}

/** A pod's file: its text, or why it can't be read. */
export interface UserNamespaceFile {
  readonly uid: string;
  readonly text: string | null;
  /** '' for a file that was read. */
  readonly problem: string;
}

export interface ContainerFiles {
  readonly uid: string;
  readonly containerName: string;
  /** Relative to the logs root: `<namespace>_<name>_<uid>`. */
  readonly podLogDirectory: string;
  /** Whether the container has a termination message path, so that a file is made for it. */
  readonly wantsTerminationFile: boolean;
}

/** Container logs on disk. */
export interface PodLogOperations {
  /** The restart count after the highest `N.log*` in a container's log directory; 0 without such a file. */
  readonly nextRestartCount: Operation<{ readonly podLogDirectory: string; readonly containerName: string }, number>;
  /** Makes the symlink that log collectors follow. Idempotent; a missing log file is `not-found`. */
  readonly link: Operation<{ readonly link: string; readonly target: string }, null>;
  /** Removes one container instance's log files and its symlink. */
  readonly removeContainerLogs: Operation<{ readonly logPaths: readonly string[]; readonly links: readonly string[] }, null>;
  /** Names of the pod log directories. */
  readonly listDirectories: Operation<null, readonly string[]>;
  readonly removeDirectory: Operation<{ readonly name: string }, null>;
  /** Removes symlinks whose target is gone, except during its rotation; returns their number. */
  readonly removeDeadLinks: Operation<null, number>;
}

/**
 * The cgroups of pods and of the node, and their values. Names are the domain's, one element a level from the root of the tree. The
 * adapter creates, empties and removes cgroups only below the cgroup of all pods; it sets values there, on that cgroup, and on the reserved cgroups.
 */
export interface PodCgroupOperations {
  /**
   * Makes the cgroup (and its parents) in every controller in use, including the cgroup of all pods itself. Idempotent. Returns whether it was made now,
   * and the error of writing its values: the cgroup exists anyway, as with the Go kubelet. '': no error.
   */
  readonly ensure: Operation<EnsuredCgroup, { readonly created: boolean; readonly problem: string }>;
  /**
   * Sets the values of an existing cgroup in the order of the fields; a failure doesn't stop the others. Idempotent. `failed-precondition` if the cgroup is
   * missing or incomplete; otherwise the failure of the first value that couldn't be written.
   */
  readonly set: Operation<{ readonly name: readonly string[]; readonly values: CgroupValues }, null>;
  /** Kills remaining processes and removes the cgroup with its children. Succeeds if absent. */
  readonly destroy: Operation<{ readonly name: readonly string[] }, null>;
  readonly exists: Operation<{ readonly name: readonly string[] }, boolean>;
  /** Processes in the cgroup and below it; 0 if absent. Used before the start only. */
  readonly countProcesses: Operation<{ readonly name: readonly string[] }, number>;
  /** Pods that own a cgroup: uid and name. */
  readonly list: Operation<null, readonly { readonly uid: string; readonly name: readonly string[] }[]>;
}

export interface EnsuredCgroup {
  readonly name: readonly string[];
  /** null: it is not set to anything. */
  readonly values: CgroupValues | null;
  /** Writes the values even if the cgroup exists: a killed agent may not have written them. */
  readonly rewrite: boolean;
}
