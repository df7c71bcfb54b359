// The pods' directories as a model. A scenario mounts things and leaves data in volumes with `mount` and `leaveVolumeData`.
import { draw, streamOf } from '../../domain/kernel/random.js';
import { podContainerDirectory } from '../../domain/values/pod-directories.js';
import { joinPath } from '../../domain/values/slash-paths.js';
import type { PodDirectoryOperations } from '../../ports/outbound/pod-files.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState, SimPodDirectory } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

export class SimPodDirectories {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  prepare({ uid }: PodDirectoryOperations['prepare']['request']): null {
    this.ensure(checkName(uid));
    return null;
  }

  prepareContainer(request: PodDirectoryOperations['prepareContainer']['request']): PodDirectoryOperations['prepareContainer']['reply'] {
    const { uid, containerName, podLogDirectory, wantsTerminationFile } = request;
    for (const name of [uid, containerName, podLogDirectory]) checkName(name);
    const containers = this.state.logs.get(podLogDirectory) ?? new Map<string, Map<string, number>>();
    this.state.logs.set(podLogDirectory, containers);
    if (!containers.has(containerName)) containers.set(containerName, new Map());
    if (!wantsTerminationFile) return { terminationFile: '' };
    const name = this.terminationFileName();
    this.ensure(uid).terminationFiles.add(`${containerName}/${name}`);
    return { terminationFile: joinPath(podContainerDirectory(this.settings.rootDirectory, uid, containerName), name) };
  }

  list(): readonly string[] {
    return [...this.state.podDirectories.keys()].sort();
  }

  remove({ uid }: PodDirectoryOperations['remove']['request']): null {
    const pod = this.state.podDirectories.get(checkName(uid));
    const [mounted] = pod?.mounts ?? [];
    if (mounted !== undefined) throw new HostRefusal('failed-precondition', `${mounted} is still mounted`);
    for (const [path, { source }] of pod?.subPaths ?? []) if (source !== null) throw new HostRefusal('failed-precondition', `volume-subpaths/${path} is still mounted`);
    for (const [path, { tmpfsBytes, nodes }] of pod?.volumes ?? []) {
      if (tmpfsBytes !== null) throw new HostRefusal('failed-precondition', `volumes/${path} is still mounted`);
      if (nodes.size > 0) throw new HostRefusal('failed-precondition', `cannot delete volumes/${path}: it is not empty`);
    }
    const [data] = pod?.volumeData ?? [];
    if (data !== undefined) throw new HostRefusal('failed-precondition', `cannot delete ${data}: it is not empty`);
    this.state.podDirectories.delete(uid);
    return null;
  }

  writeHosts({ uid, text }: PodDirectoryOperations['writeHosts']['request']): null {
    this.present(checkName(uid)).hosts = text;
    return null;
  }

  writeUserNamespace({ uid, text }: PodDirectoryOperations['writeUserNamespace']['request']): null {
    this.ensure(checkName(uid)).userNamespace = text;
    return null;
  }

  readUserNamespaces(): PodDirectoryOperations['readUserNamespaces']['reply'] {
    return this.list().flatMap((uid) => {
      const text = this.state.podDirectories.get(uid)?.userNamespace ?? null;
      return text === null ? [] : [{ uid, text, problem: '' }];
    });
  }

  /** Something is mounted at a path below the pod's directory, or no longer. */
  mount(uid: string, path: string, mounted: boolean): void {
    const { mounts } = this.present(uid);
    if (mounted) mounts.add(path);
    else mounts.delete(path);
  }

  /** A volume's directory has content, or no longer. */
  leaveVolumeData(uid: string, path: string, left: boolean): void {
    const { volumeData } = this.present(uid);
    if (left) volumeData.add(path);
    else volumeData.delete(path);
  }

  private present(uid: string): SimPodDirectory {
    const pod = this.state.podDirectories.get(uid);
    if (pod === undefined) throw new HostRefusal('not-found', `the pod ${uid} has no directory`);
    return pod;
  }

  private ensure(uid: string): SimPodDirectory {
    let pod = this.state.podDirectories.get(uid);
    if (pod === undefined) {
      pod = {
        hosts: '',
        userNamespace: null,
        terminationFiles: new Set(),
        mounts: new Set(),
        volumeData: new Set(),
        volumes: new Map(),
        subPaths: new Map(),
        deviceLinks: new Map(),
        readyVolumes: new Set(),
      };
      this.state.podDirectories.set(uid, pod);
    }
    return pod;
  }

  private terminationFileName(): string {
    const number = draw(streamOf(this.settings.seed, 'termination-file', ''), this.state.terminationFilesMade++);
    return Math.floor(number * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  }
}
