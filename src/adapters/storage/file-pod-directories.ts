// The pods' directories below the kubelet's root, on the file system. Work is synchronous: measured, it costs half of what promises do, and
// it is a handful of calls at a pod's start.
// Invariant: nothing outside `<root>/pods` and the logs root is made or removed, whatever uid or name is given.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchmodSync, openSync, readFileSync } from 'node:fs';
import { podContainerDirectory } from '../../domain/values/pod-directories.js';
import { joinPath } from '../../domain/values/slash-paths.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerFiles, PodDirectoryOperations, UserNamespaceFile } from '../../ports/outbound/pod-files.js';
import { checkName, DirectoryHandle, making, using, walking } from './directory-handle.js';
import { carryOut, errnoName, FileRefusal } from './file-errors.js';
import { mountAtOrBelow, removeEverything, removeTree } from './remove-tree.js';
import { replaceFile, replaceFileDurably } from './replace-file.js';

const directoryMode = 0o750;
const logDirectoryMode = 0o755;
/** Any user of the container writes its last words. */
const terminationFileMode = 0o666;
const hostsMode = 0o644;
/** The mode that the reference's own store of files gives. */
const userNamespaceMode = 0o600;
/** A file with its one mapping has some hundred. */
const userNamespaceBytesMax = 65_536n;
/** A second draw of the same 32 bits among the files of one container is chance enough. */
const terminationNamesMax = 8;
/** `volumes/<plugin>/<volume>`; a CSI driver makes `mount` in its own. */
const volumeLevels = 2;
const csiPlugin = 'kubernetes.io~csi';
/** `volume-subpaths/<volume>/<container>/<index>`. */
const subpathLevels = 2;

export interface PodDirectoryPaths {
  readonly rootDirectory: string;
  /** `podLogsDir` of the configuration. */
  readonly podLogsDirectory: string;
}

export class FilePodDirectories implements PortOf<PodDirectoryOperations> {
  private constructor(
    private readonly paths: PodDirectoryPaths,
    private readonly pods: DirectoryHandle,
    private readonly logs: DirectoryHandle,
  ) {}

  /** Makes the roots when they are absent. Throws what the kernel says. */
  static open(paths: PodDirectoryPaths): FilePodDirectories {
    const pods = using(DirectoryHandle.root(paths.rootDirectory, directoryMode), (root) => root.ensure('pods', directoryMode));
    try {
      return new FilePodDirectories(paths, pods, DirectoryHandle.root(paths.podLogsDirectory, logDirectoryMode));
    } catch (error) {
      pods.close();
      throw error;
    }
  }

  close(): void {
    this.pods.close();
    this.logs.close();
  }

  prepare({ uid }: { readonly uid: string }, call: Call): Promise<null> {
    return carryOut('podDirectories.prepare', uid, call, () => {
      using(this.pods.ensure(uid, directoryMode), (pod) => {
        for (const name of ['volumes', 'plugins']) pod.ensure(name, directoryMode).close();
      });
      return null;
    });
  }

  prepareContainer(files: ContainerFiles, call: Call): Promise<{ readonly terminationFile: string }> {
    return carryOut('podDirectories.prepareContainer', `${files.uid} ${files.containerName}`, call, () => {
      // Both are looked at before the first is made.
      for (const name of [files.uid, files.containerName, files.podLogDirectory]) checkName(name);
      making(this.logs, [files.podLogDirectory, files.containerName], logDirectoryMode, () => null);
      if (!files.wantsTerminationFile) return { terminationFile: '' };
      const name = making(this.pods, [files.uid, 'containers', files.containerName], directoryMode, newTerminationFile);
      return { terminationFile: joinPath(podContainerDirectory(this.paths.rootDirectory, files.uid, files.containerName), name) };
    });
  }

  list(_request: null, call: Call): Promise<readonly string[]> {
    return carryOut('podDirectories.list', '', call, () => this.pods.directoryNames());
  }

  remove({ uid }: { readonly uid: string }, call: Call): Promise<null> {
    return carryOut('podDirectories.remove', uid, call, () => {
      const pod = this.pods.enterIfPresent(uid);
      if (pod === null) return null;
      using(pod, () => {
        const mount = mountAtOrBelow(pod.where());
        if (mount !== null) throw new FileRefusal('failed-precondition', `${mount} is still mounted`);
        removeContent(pod);
      });
      this.pods.removeDirectory(uid);
      return null;
    });
  }

  writeUserNamespace({ uid, text }: PodDirectoryOperations['writeUserNamespace']['request'], call: Call): Promise<null> {
    return carryOut('podDirectories.writeUserNamespace', uid, call, async () => {
      const pod = this.pods.ensure(uid, directoryMode);
      try {
        await replaceFileDurably(pod, userNamespaceFile, text, userNamespaceMode);
      } finally {
        pod.close();
      }
      return null;
    });
  }

  readUserNamespaces(_request: null, call: Call): Promise<readonly UserNamespaceFile[]> {
    return carryOut('podDirectories.readUserNamespaces', '', call, () => this.pods.directoryNames().flatMap((uid) => userNamespaceOf(this.pods, uid) ?? []));
  }

  writeHosts({ uid, text }: { readonly uid: string; readonly text: string }, call: Call): Promise<null> {
    return carryOut('podDirectories.writeHosts', uid, call, () => {
      const written = walking(this.pods, [uid], (pod) => {
        if (!hostsAre(pod, text)) replaceFile(pod, hostsFile, text, hostsMode);
        return true;
      });
      if (written === null) throw new FileRefusal('not-found', `the pod ${uid} has no directory`);
      return null;
    });
  }
}

const hostsFile = 'etc-hosts';
const userNamespaceFile = 'userns';

/** Null: the pod has no such file. Never follows a link, and never waits for whoever is to write. */
function userNamespaceOf(pods: DirectoryHandle, uid: string): UserNamespaceFile | null {
  try {
    return walking(pods, [uid], (pod) => {
      const entry = pod.look(userNamespaceFile);
      if (entry === null) return null;
      if (!entry.isFile()) return { uid, text: null, problem: `${userNamespaceFile} is no file` };
      if (entry.size > userNamespaceBytesMax) return { uid, text: null, problem: `${userNamespaceFile} has ${entry.size} bytes, more than ${userNamespaceBytesMax}` };
      const fd = openSync(pod.at(userNamespaceFile), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        return { uid, text: readFileSync(fd, 'utf8'), problem: '' };
      } finally {
        closeSync(fd);
      }
    });
  } catch (error) {
    return { uid, text: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Volumes may hold data: only their empty directories go, and when one is not empty nothing else of the pod goes either. */
function removeContent(pod: DirectoryHandle): void {
  walking(pod, ['volumes'], (volumes) => {
    for (const { name } of volumes.entries()) removeTree(volumes, name, { levels: name === csiPlugin ? volumeLevels : volumeLevels - 1, removesFiles: false });
  });
  walking(pod, ['volume-subpaths'], (subpaths) => {
    for (const { name } of subpaths.entries()) removeTree(subpaths, name, { levels: subpathLevels, removesFiles: true });
  });
  for (const name of ['volumes', 'volume-subpaths']) pod.removeDirectory(name);
  for (const { name } of pod.entries()) removeTree(pod, name, removeEverything);
}

/** Containers write into their hosts file: one that was changed is replaced, an equal one is left, since running containers hold its inode. */
function hostsAre(pod: DirectoryHandle, text: string): boolean {
  const entry = pod.look(hostsFile);
  if (entry === null || !entry.isFile() || entry.size !== BigInt(Buffer.byteLength(text)) || (entry.mode & 0o7777n) !== BigInt(hostsMode)) return false;
  return readFileSync(pod.at(hostsFile), 'utf8') === text;
}

function newTerminationFile(directory: DirectoryHandle): string {
  for (let attempt = 1; ; attempt++) {
    const name = randomBytes(4).toString('hex');
    try {
      const fd = openSync(directory.at(name), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, terminationFileMode);
      try {
        // The umask took bits away.
        fchmodSync(fd, terminationFileMode);
      } finally {
        closeSync(fd);
      }
      return name;
    } catch (error) {
      if (errnoName(error) !== 'EEXIST' || attempt === terminationNamesMax) throw error;
    }
  }
}
