// Volumes of the node itself on the file system: a directory, a tmpfs in it, and the payloads written there.
// Invariants: nothing outside `<root>/pods/<uid>` is made, mounted or removed; a container's entries in a volume are only ever removed,
// never followed; a tmpfs is unmounted only if it is the volume's own.
import { chmodSync, chownSync, constants, fstatSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import type { Call, PortOf } from '../../ports/operation.js';
import type { MountOperations, MountRequest } from '../../ports/outbound/mounts.js';
import type { PayloadWrite, PodVolumeOperations, VolumeAddress, VolumeContent, VolumeLeftovers, VolumeSetUp } from '../../ports/outbound/pod-volumes.js';
import { type OpenBeneath, parseMountinfo } from '../native-linux/index.js';
import { checkName, DirectoryHandle, making, using, walking } from './directory-handle.js';
import { carryOut, FileRefusal } from './file-errors.js';
import { mountPoints } from './file-sub-paths.js';
import { leftVolumes } from './left-volumes.js';
import { mounting } from './mount-words.js';
import { carryOutPayloadSteps, readPayload } from './payload-files.js';
import { mountAtOrBelow, removeEverything, removeTree } from './remove-tree.js';
import { removeVolumeTree } from './remove-volume-tree.js';

const directoryMode = 0o750;
/** Other users may pass, as with the reference. */
const pluginMode = 0o755;
/** Files that variables come from have some lines. */
const readFileBytesMax = 1024 * 1024;
const markerDirectory = ['plugins', 'kubernetes.io~empty-dir'] as const;
const markerFile = 'ready';
const markerMode = 0o640;
/** A volume that was set up by agents that raced may hold a mount on a mount; never many. */
const stackedMountsMax = 8;
const ownFileSystems: ReadonlySet<string> = new Set(['tmpfs', 'hugetlbfs']);

export class FilePodVolumes implements PortOf<PodVolumeOperations> {
  private constructor(
    private readonly root: DirectoryHandle,
    private readonly pods: DirectoryHandle,
    private readonly mounts: PortOf<MountOperations>,
    private readonly noSwap: boolean,
    private readonly openBeneath: OpenBeneath,
  ) {}

  /** Makes the roots if absent. Throws the kernel's error. */
  static open({ rootDirectory }: { readonly rootDirectory: string }, mounts: PortOf<MountOperations>, openBeneath: OpenBeneath): FilePodVolumes {
    const root = DirectoryHandle.root(rootDirectory, directoryMode);
    return new FilePodVolumes(root, root.ensure('pods', directoryMode), mounts, keepsTmpfsFromSwap(), openBeneath);
  }

  close(): void {
    this.pods.close();
    this.root.close();
  }

  setUp(request: VolumeSetUp, call: Call): Promise<null> {
    return carryOut('podVolumes.setUp', subjectOf(request), call, async () => {
      checkAddress(request);
      const pod = this.pods.enterIfPresent(request.uid);
      if (pod === null) throw new FileRefusal('not-found', `the pod ${request.uid} has no directory`);
      try {
        const marked = isMarked(pod, request.marker);
        const plugin = making(pod, ['volumes'], directoryMode, (volumes) => volumes.ensure(request.plugin, pluginMode));
        try {
          await this.make(plugin, request, marked, call);
        } finally {
          plugin.close();
        }
        if (!marked) mark(pod, request.marker);
      } finally {
        pod.close();
      }
      return null;
    });
  }

  private async make(plugin: DirectoryHandle, { volume, mode, gid, tmpfs, hugePages }: VolumeSetUp, marked: boolean, call: Call): Promise<void> {
    const isThere = plugin.look(volume) !== null;
    const path = using(plugin.ensure(volume, directoryMode), (directory) => directory.where());
    if (tmpfs === null && hugePages === null) {
      if (marked && isThere) return;
    } else {
      // A mount from before a crash is kept, with its content.
      const mounted = isMountPoint(plugin, volume);
      if (mounted && hugePages !== null) checkPageSize(path, hugePages.pageSize);
      if (marked && mounted) return;
      if (!mounted) {
        const mount = this.inMemory(path, tmpfs, hugePages);
        await mounting(mount, () => this.mounts.mount(mount, call));
      }
    }
    // The owner first: a change of it may take the set-group-id bit away. The directory above is the kubelet's alone, so no link is met.
    if (gid !== null) chownSync(plugin.at(volume), lstatSync(plugin.at(volume)).uid, gid);
    chmodSync(plugin.at(volume), mode);
  }

  private inMemory(target: string, tmpfs: VolumeSetUp['tmpfs'], hugePages: VolumeSetUp['hugePages']): MountRequest {
    if (hugePages !== null) return { source: 'nodev', target, fsType: 'hugetlbfs', options: [`pagesize=${hugePages.pageSize}`] };
    const sizeBytes = tmpfs?.sizeBytes ?? 0;
    return { source: 'tmpfs', target, fsType: 'tmpfs', options: [...(sizeBytes > 0 ? [`size=${sizeBytes}`] : []), ...(this.noSwap ? ['noswap'] : [])] };
  }

  read(request: VolumeAddress & { readonly paths: readonly string[] }, call: Call): Promise<VolumeContent> {
    return carryOut('podVolumes.read', subjectOf(request), call, () => this.inVolume(request, (directory) => readPayload(directory, request.paths)));
  }

  readFiles({ files }: PodVolumeOperations['readFiles']['request'], call: Call): Promise<PodVolumeOperations['readFiles']['reply']> {
    const [first] = files;
    return carryOut('podVolumes.readFiles', first === undefined ? '' : subjectOf(first), call, () => {
      for (const file of files) checkAddress(file);
      return { contents: files.map((file) => this.readFile(file)) };
    });
  }

  /** A container's file is opened by strict rules: no link leads out of the volume, and nothing blocks the agent. */
  private readFile({ uid, plugin, volume, path }: VolumeAddress & { readonly path: string }): Buffer | null {
    return walking(this.pods, [uid, 'volumes', plugin, volume], (directory) => {
      try {
        const file = this.openBeneath(directory.where(), path, { flags: constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY, mode: 0, followSymlinks: true });
        try {
          const status = fstatSync(file.fd);
          return status.isFile() && status.size <= readFileBytesMax ? readFileSync(file.fd) : null;
        } finally {
          file.close();
        }
      } catch {
        return null;
      }
    });
  }

  write(request: PayloadWrite, call: Call): Promise<null> {
    return carryOut('podVolumes.write', subjectOf(request), call, () =>
      this.inVolume(request, (directory) => {
        carryOutPayloadSteps(directory, request);
        return null;
      }),
    );
  }

  private inVolume<T>(address: VolumeAddress, work: (directory: DirectoryHandle) => T): T {
    checkAddress(address);
    const { uid, plugin, volume } = address;
    const result = walking(this.pods, [uid, 'volumes', plugin, volume], (directory) => ({ value: work(directory) }));
    if (result === null) throw new FileRefusal('not-found', `the pod ${uid} has no volume ${plugin}/${volume}`);
    return result.value;
  }

  tearDown(address: VolumeAddress, call: Call): Promise<null> {
    return carryOut('podVolumes.tearDown', subjectOf(address), call, async () => {
      checkAddress(address);
      const { uid, plugin, volume, marker } = address;
      // First: with the mark a partly removed volume would count as complete.
      walking(this.pods, [uid, ...markerDirectory], (markers) => removeTree(markers, marker, removeEverything));
      const parent = walking(this.pods, [uid, 'volumes'], (volumes) => volumes.enterIfPresent(plugin));
      if (parent === null) return null;
      try {
        if (parent.look(volume) === null) return null;
        const path = using(parent.enter(volume), (directory) => directory.where());
        await this.unmountOwn(parent, volume, path, call);
        const mount = mountAtOrBelow(path);
        if (mount !== null) throw new FileRefusal('failed-precondition', `${mount} is still mounted`);
        await removeVolumeTree(parent, volume);
      } finally {
        parent.close();
      }
      return null;
    });
  }

  private async unmountOwn(parent: DirectoryHandle, volume: string, path: string, call: Call): Promise<void> {
    for (let i = 0; i < stackedMountsMax && isMountPoint(parent, volume); i++) {
      const top = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).findLast(({ mountPoint }) => mountPoint === path);
      if (top !== undefined && !ownFileSystems.has(top.fsType)) throw new FileRefusal('failed-precondition', `${path} is a mount of ${top.fsType}, not the volume's own`);
      await this.mounts.unmount({ target: path, force: false }, call);
    }
  }

  list({ uid }: { readonly uid: string }, call: Call): Promise<VolumeLeftovers> {
    return carryOut('podVolumes.list', uid, call, () => {
      checkName(uid);
      return {
        volumes: leftVolumes(this.root, uid),
        subPaths: walking(this.pods, [uid, 'volume-subpaths'], (directory) => subPathsIn(directory, mountPoints())) ?? [],
      };
    });
  }
}

/** Whether this host can keep memory volumes out of swap. */
export function keepsTmpfsFromSwap(): boolean {
  return knowsNoSwap(release(), readFileSync('/proc/self/uid_map', 'utf8'));
}

/** Whether a tmpfs supports noswap: since Linux 6.4, and never within a user namespace. */
export function knowsNoSwap(kernelRelease: string, uidMap: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  const isInitialNamespace = /^\s*0\s+0\s+4294967295\s*$/.test(uidMap);
  return isInitialNamespace && (major > 6 || (major === 6 && minor >= 4));
}

/** The kernel's table writes `2M` for the API's `2Mi`. */
function checkPageSize(path: string, wanted: string): void {
  const mount = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).findLast(({ mountPoint }) => mountPoint === path);
  const found = mount?.superOptions.find((option) => option.startsWith('pagesize='))?.slice('pagesize='.length) ?? null;
  if (found === null || `${found}i` === wanted) return;
  throw new FileRefusal('failed-precondition', `${path} is mounted with pages of ${found}i, and is to have pages of ${wanted}`);
}

function subjectOf({ uid, plugin, volume }: VolumeAddress): string {
  return `${uid} ${plugin}/${volume}`;
}

function checkAddress({ uid, plugin, volume, marker }: VolumeAddress): void {
  for (const name of [uid, plugin, volume, marker]) checkName(name);
}

function isMountPoint(parent: DirectoryHandle, name: string): boolean {
  return using(parent.enter(name), (directory) => directory.mountId() !== parent.mountId());
}

function isMarked(pod: DirectoryHandle, marker: string): boolean {
  return walking(pod, [...markerDirectory, marker], (directory) => directory.look(markerFile) !== null) === true;
}

function mark(pod: DirectoryHandle, marker: string): void {
  making(pod, [...markerDirectory, marker], directoryMode, (directory) => writeFileSync(directory.at(markerFile), '', { mode: markerMode }));
}

function subPathsIn(directory: DirectoryHandle, mounted: ReadonlySet<string>): VolumeLeftovers['subPaths'] {
  return directory.directoryNames().map((volume) => ({ volume, containers: walking(directory, [volume], (inside) => containersIn(inside, mounted)) ?? [] }));
}

function containersIn(volume: DirectoryHandle, mounted: ReadonlySet<string>): VolumeLeftovers['subPaths'][number]['containers'] {
  return volume.entries().map((entry) => {
    const { name } = entry;
    const entries = entry.isDirectory()
      ? walking(volume, [name], (container) => container.entries().map((found) => ({ name: found.name, isMounted: mounted.has(`${container.where()}/${found.name}`) })))
      : null;
    return { name, isDirectory: entry.isDirectory(), entries: entries ?? [] };
  });
}
