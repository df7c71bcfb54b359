// Paths of a pod's logs, and their parsing.
// Log collectors and `kubectl logs` depend on every character of these paths.
// Invariant: parsing a built name returns its UID, container ID or restart count.
import { joinPath } from './slash-paths.js';

/** Directory of links by pod and container name, kept for log collectors. */
export const legacyContainerLogsDirectory = '/var/log/containers';

const legacySuffix = '.log';
/** A file name may have 255 bytes on the usual file systems. */
const maxFileNameLength = 255;
/** The runtime finds a container by a prefix of its id, but not by fewer characters. */
const shortestContainerIdPrefix = 6;

export type ReadBack<T> = { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'invalid'; readonly message: string };

/** `<podLogsDir>/<namespace>_<name>_<uid>`, the sandbox's log directory. */
export function podLogDirectory(podLogsDir: string, namespace: string, name: string, uid: string): string {
  return joinPath(podLogsDir, `${namespace}_${name}_${uid}`);
}

/** The directory of one container's logs, one file a restart. */
export function containerLogDirectory(podLogsDir: string, namespace: string, name: string, uid: string, containerName: string): string {
  return joinPath(podLogDirectory(podLogsDir, namespace, name, uid), containerName);
}

/** Path of a container's log relative to its pod's log directory, for the runtime. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return joinPath(containerName, `${restartCount}.log`);
}

/** The link in /var/log/containers; its stem is cut so that the name fits a file system. */
export function legacyLogSymlink(containerId: string, containerName: string, podName: string, namespace: string): string {
  const stem = `${podName}_${namespace}_${containerName}-${containerId}`.slice(0, maxFileNameLength - legacySuffix.length);
  return joinPath(legacyContainerLogsDirectory, stem + legacySuffix);
}

/** The container id (or the part of it that fitted) in a legacy link's name. */
export function containerIdOfSymlink(path: string): ReadBack<string> {
  const last = path.slice(path.lastIndexOf('-') + 1);
  if (!last.endsWith(legacySuffix)) return { kind: 'invalid', message: `${JSON.stringify(path)} doesn't end with "${legacySuffix}"` };
  const id = last.slice(0, -legacySuffix.length);
  if (id.length < shortestContainerIdPrefix) return { kind: 'invalid', message: `container Id ${JSON.stringify(id)} is too short` };
  return { kind: 'ok', value: id };
}

/** The pod uid in a log directory's name: what follows the last `_`; a directory named by the uid alone is from older kubelets. */
export function podUidOfLogDirectory(directoryName: string): string {
  return directoryName.slice(directoryName.lastIndexOf('_') + 1);
}

const maxInt64 = 9_223_372_036_854_775_807n;

/**
 * The restart count a new container gets when the runtime has lost its predecessors: one more than the highest N of `N.log*`, else 0.
 * Rotated and compressed files count too.
 */
export function restartCountOfLogDirectory(fileNames: readonly string[]): number {
  let highest = -1;
  for (const name of fileNames) {
    const digits = /^([0-9]+)\.log/.exec(name)?.[1];
    if (digits === undefined || BigInt(digits) > maxInt64) continue;
    highest = Math.max(highest, Number(digits));
  }
  return highest + 1;
}
