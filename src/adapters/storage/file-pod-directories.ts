// The pods' directories below the kubelet's root, on the file system. A pod's start and end are step lists that don't block
// the event loop, a few calls each; single operations wait for the disk.
// Invariant: nothing outside `<root>/pods` and the logs root is made or removed, for any uid or name.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import { podContainerDirectory } from '../../domain/values/pod-directories.js';
import { joinPath } from '../../domain/values/slash-paths.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerFiles, PodDirectoryOperations, UserNamespaceFile } from '../../ports/outbound/pod-files.js';
import { FallbackFileSteps, type FileStepRunner, FileSteps, listedEntries, type StepRoot, tolerated } from '../native-linux/index.js';
import { checkName, DirectoryHandle, using, walking } from './directory-handle.js';
import { carryOut, FileRefusal } from './file-errors.js';
import { treeLevelsMax } from './remove-tree.js';
import { replaceFileDurably } from './replace-file.js';
import { carriedOut, directoryNames, stepError } from './step-errors.js';

const directoryMode = 0o750;
const logDirectoryMode = 0o755;
/** Any user of the container writes its last words. */
const terminationFileMode = 0o666;
const hostsMode = 0o644;
/** The mode of the Go kubelet's file store. */
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
  /** The runner of step lists; plain Node by default. */
  readonly steps?: FileStepRunner;
}

export class FilePodDirectories implements PortOf<PodDirectoryOperations> {
  private readonly steps: FileStepRunner;

  private constructor(
    private readonly paths: PodDirectoryPaths,
    private readonly pods: DirectoryHandle,
    private readonly logs: DirectoryHandle,
  ) {
    this.steps = paths.steps ?? new FallbackFileSteps();
  }

  /** Makes the roots if absent. Throws the kernel's error. */
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
    return carryOut('podDirectories.prepare', uid, call, async () => {
      const list = new FileSteps([this.pods]);
      const pod = list.ensure(0, checkName(uid), directoryMode);
      for (const name of ['volumes', 'plugins']) list.ensure(pod, name, directoryMode);
      await carriedOut(this.steps, list);
      return null;
    });
  }

  prepareContainer(files: ContainerFiles, call: Call): Promise<{ readonly terminationFile: string }> {
    return carryOut('podDirectories.prepareContainer', `${files.uid} ${files.containerName}`, call, async () => {
      // Checks all names before the first directory is made.
      for (const name of [files.uid, files.containerName, files.podLogDirectory]) checkName(name);
      for (let attempt = 1; ; attempt++) {
        const name = randomBytes(4).toString('hex');
        const list = new FileSteps([this.pods, this.logs]);
        list.ensure(list.ensure(1, files.podLogDirectory, logDirectoryMode), files.containerName, logDirectoryMode);
        const terminationFile = files.wantsTerminationFile ? newTerminationFile(list, files, name) : null;
        const outcomes = await carriedOut(this.steps, list);
        if (terminationFile === null) return { terminationFile: '' };
        if (outcomes.status(terminationFile) >= 0) return { terminationFile: joinPath(podContainerDirectory(this.paths.rootDirectory, files.uid, files.containerName), name) };
        if (attempt === terminationNamesMax) throw stepError(list, outcomes, terminationFile);
      }
    });
  }

  list(_request: null, call: Call): Promise<readonly string[]> {
    return carryOut('podDirectories.list', '', call, () => directoryNames(this.steps, this.pods));
  }

  remove({ uid }: { readonly uid: string }, call: Call): Promise<null> {
    return carryOut('podDirectories.remove', uid, call, async () => {
      const found = new FileSteps([this.pods]);
      found.noMountBelow(`${this.pods.where()}/${checkName(uid)}`);
      const pod = found.enter(0, uid, tolerated.absent);
      const [volumes, subpaths] = ['volumes', 'volume-subpaths'].map((name) => found.list(found.enter(pod, name, tolerated.absent), '', false));
      const all = found.list(pod, '', false);
      const outcomes = await carriedOut(this.steps, found);
      const namesIn = (step: number | undefined): string[] => listedEntries(outcomes.text(step ?? 0)).map(({ name }) => name);
      await carriedOut(this.steps, removal(this.pods, uid, { volumes: namesIn(volumes), subpaths: namesIn(subpaths), all: namesIn(all) }));
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
    return carryOut('podDirectories.writeHosts', uid, call, async () => {
      const list = new FileSteps([this.pods]);
      // Containers write into their hosts file: a changed one is replaced, an equal one stays, since running containers hold its inode.
      const pod = list.enter(0, checkName(uid), tolerated.absent);
      const written = list.replace(pod, hostsFile, hostsMode, text);
      if ((await carriedOut(this.steps, list)).status(written) < 0) throw new FileRefusal('not-found', `the pod ${uid} has no directory`);
      return null;
    });
  }
}

const hostsFile = 'etc-hosts';
const userNamespaceFile = 'userns';

/** Null: the pod has no such file. Never follows a link, and never blocks on a FIFO. */
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

interface PodContent {
  readonly volumes: readonly string[];
  readonly subpaths: readonly string[];
  readonly all: readonly string[];
}

/** Volumes may hold data: only their empty directories are removed, and if one is not empty nothing else of the pod is removed either. */
function removal(pods: StepRoot, uid: string, { volumes, subpaths, all }: PodContent): FileSteps {
  const list = new FileSteps([pods]);
  const pod = list.enter(0, uid, tolerated.absent);
  const [volumeDirectory, subpathDirectory] = ['volumes', 'volume-subpaths'].map((name) => list.enter(pod, name, tolerated.absent)) as [number, number];
  for (const name of volumes) list.removeTree(volumeDirectory, name, name === csiPlugin ? volumeLevels : volumeLevels - 1, false);
  for (const name of subpaths) list.removeTree(subpathDirectory, name, subpathLevels, true);
  for (const name of ['volumes', 'volume-subpaths']) list.removeDirectory(pod, name);
  for (const name of all) list.removeTree(pod, name, treeLevelsMax, true);
  list.removeDirectory(0, uid);
  return list;
}

/** Made with its directories; a name that is taken doesn't end the list. */
function newTerminationFile(list: FileSteps, { uid, containerName }: ContainerFiles, name: string): number {
  const container = list.ensure(list.ensure(list.ensure(0, uid, directoryMode), 'containers', directoryMode), containerName, directoryMode);
  return list.create(container, name, terminationFileMode, '', tolerated.present);
}
