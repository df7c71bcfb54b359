// Mounts of volumes below pods' directories and below `plugins`. Mounts are read from the kernel's mount table, and a mount point is never
// opened, so that a dead file server blocks only the calls about it.
// Invariants: a place is walked one element at a time, never through a link, from directories that belong to the kubelet; a directory is
// removed by rmdir(2) only, and only when nothing is mounted at or below it.
import { readFileSync } from 'node:fs';
import type { Call, PortOf } from '../../ports/operation.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import type { FoundPodVolumes, VolumeMountOperations, VolumeMountSource, VolumePlace } from '../../ports/outbound/volume-mounts.js';
import { type MountinfoEntry, parseMountinfo, type Trees } from '../native-linux/index.js';
import { checkName, DirectoryHandle, walking } from './directory-handle.js';
import { carryOut, FileRefusal } from './file-errors.js';
import { leftVolumes } from './left-volumes.js';
import { runMountHelper } from './mount-program.js';
import { mounting } from './mount-words.js';

const directoryMode = 0o750;
/** Agents that raced may have mounted on a mount; never many. */
const stackedMountsMax = 8;
const microsPerMilli = 1000;

export interface VolumeMountPaths {
  readonly rootDirectory: string;
  /** The search path of `mount.<fsType>`. */
  readonly helperDirectories: readonly string[];
}

/** As in mount(8). */
export const mountHelperDirectories: readonly string[] = ['/sbin', '/usr/sbin', '/sbin/fs.d', '/sbin/fs'];

export class FileVolumeMounts implements PortOf<VolumeMountOperations> {
  private constructor(
    private readonly root: DirectoryHandle,
    private readonly paths: VolumeMountPaths,
    private readonly mounts: PortOf<MountOperations>,
    private readonly trees: Trees,
  ) {}

  /** Makes the root if absent. Throws the kernel's error. */
  static open(paths: VolumeMountPaths, mounts: PortOf<MountOperations>, trees: Trees): FileVolumeMounts {
    return new FileVolumeMounts(DirectoryHandle.root(paths.rootDirectory, directoryMode), paths, mounts, trees);
  }

  close(): void {
    this.root.close();
  }

  mount({ place, source }: VolumeMountOperations['mount']['request'], call: Call): Promise<'mounted' | 'present'> {
    return carryOut('volumeMounts.mount', subjectOf(place), call, async () => {
      const elements = elementsOf(place);
      const name = elements.at(-1) as string;
      this.checkPod(place);
      const enter = (directory: DirectoryHandle, element: string) => directory.ensure(element, directoryMode);
      const outcome = await holding(this.root, elements.slice(0, -1), enter, async (parent) => {
        const path = `${parent.where()}/${name}`;
        if (mountsAt(path).length > 0) return 'present';
        parent.ensure(name, directoryMode).close();
        try {
          await this.mountAt(path, source, call);
        } catch (error) {
          if (mountsAt(path).length === 0) parent.removeDirectory(name);
          throw error;
        }
        return 'mounted';
      });
      return outcome ?? 'mounted';
    });
  }

  private async mountAt(target: string, source: VolumeMountSource, call: Call): Promise<void> {
    switch (source.kind) {
      case 'bind':
        await mounting({ ...source, fsType: '', source: source.path, target }, () =>
          this.mounts.bind({ source: source.path, target, recursive: false, options: source.options }, call),
        );
        return;
      case 'fileSystem':
        await mounting({ ...source, target }, () => this.mounts.mount({ source: source.source, target, fsType: source.fsType, options: source.options }, call));
        return;
      case 'helper':
        await runMountHelper({ ...source, target, directories: this.paths.helperDirectories }, call);
    }
  }

  /** A pod without a directory is gone: nothing is made for it any more. */
  private checkPod(place: VolumePlace): void {
    if (place.kind !== 'pod') return;
    const pod = walking(this.root, ['pods', place.uid], () => true);
    if (pod === null) throw new FileRefusal('not-found', `the pod ${place.uid} has no directory`);
  }

  unmount({ place, forceAfter }: VolumeMountOperations['unmount']['request'], call: Call): Promise<null> {
    return carryOut('volumeMounts.unmount', subjectOf(place), call, async () => {
      const elements = elementsOf(place);
      const name = elements.at(-1) as string;
      const enter = (directory: DirectoryHandle, element: string) => directory.enterIfPresent(element);
      await holding(this.root, elements.slice(0, -1), enter, async (parent) => {
        const path = `${parent.where()}/${name}`;
        const below = mountBelow(path);
        if (below !== null) throw new FileRefusal('failed-precondition', `${below} is still mounted`);
        for (let tries = 0; mountsAt(path).length > 0; tries++) {
          if (tries === stackedMountsMax) throw new FileRefusal('failed-precondition', `failed to cleanup mount point ${path}`);
          await this.unmountAt(path, forceAfter, call);
        }
        parent.removeDirectory(name);
      });
      return null;
    });
  }

  private async unmountAt(target: string, forceAfter: number | null, call: Call): Promise<void> {
    const gentle = this.mounts.unmount({ target, force: false }, call);
    if (forceAfter === null) {
      await gentle;
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, forceAfter / microsPerMilli, 'late');
    });
    const first = await Promise.race([gentle, late]).finally(() => clearTimeout(timer));
    if (first !== 'late') return;
    await this.mounts.unmount({ target, force: true }, call);
    // The waiting unmount has been abandoned by that, or reports the error.
    await gentle;
  }

  setOwnership({ place, ownership }: VolumeMountOperations['setOwnership']['request'], call: Call): Promise<VolumeMountOperations['setOwnership']['reply']> {
    return carryOut('volumeMounts.setOwnership', subjectOf(place), call, () => this.trees.setOwnership(this.pathOf(place), ownership));
  }

  ownershipProgress({ place }: VolumeMountOperations['ownershipProgress']['request'], call: Call): Promise<number | null> {
    return carryOut('volumeMounts.ownershipProgress', subjectOf(place), call, () => this.trees.ownershipProgress(this.pathOf(place)));
  }

  references({ place }: VolumeMountOperations['references']['request'], call: Call): Promise<VolumeMountOperations['references']['reply']> {
    return carryOut('volumeMounts.references', subjectOf(place), call, async () => {
      const path = this.pathOf(place);
      const table = mountTable();
      const own = table.findLast(({ mountPoint }) => mountPoint === path);
      if (own === undefined) return { mountPoints: [], gid: null };
      const pods = `${path.slice(0, path.length - elementsOf(place).join('/').length)}pods/`;
      const others = table.filter(({ mountPoint, majorMinor, root }) => mountPoint !== path && majorMinor === own.majorMinor && root === own.root && mountPoint.startsWith(pods));
      const status = await this.trees.status(path, false).catch(() => null);
      return { mountPoints: [...new Set(others.map(({ mountPoint }) => mountPoint))].sort(), gid: status?.gid ?? null };
    });
  }

  hasLabels({ place }: VolumeMountOperations['hasLabels']['request'], call: Call): Promise<boolean> {
    return carryOut('volumeMounts.hasLabels', subjectOf(place), call, () => {
      const path = this.pathOf(place);
      // Without a mount point of its own a path is on the file system around it.
      const own = mountTable().reduce<MountinfoEntry | null>(
        (best, entry) => (isWithin(path, entry) && entry.mountPoint.length >= (best?.mountPoint.length ?? 0) ? entry : best),
        null,
      );
      return own?.superOptions.includes('seclabel') === true;
    });
  }

  survey(_request: null, call: Call): Promise<readonly FoundPodVolumes[]> {
    return carryOut('volumeMounts.survey', '', call, () => {
      const found = walking(this.root, ['pods'], (pods) => pods.directoryNames().map((uid): FoundPodVolumes => ({ uid, volumes: leftVolumes(this.root, uid) })));
      return (found ?? []).filter(({ volumes }) => volumes.length > 0);
    });
  }

  /** Without touching the last element. */
  private pathOf(place: VolumePlace): string {
    const elements = elementsOf(place);
    const parent = walking(this.root, elements.slice(0, -1), (directory) => directory.where());
    if (parent === null) throw new FileRefusal('not-found', `${subjectOf(place)} is not there`);
    return `${parent}/${elements.at(-1)}`;
  }
}

function elementsOf(place: VolumePlace): readonly string[] {
  const elements =
    place.kind === 'pod' ? ['pods', place.uid, 'volumes', place.plugin, place.volume, ...(place.inner === null ? [] : [place.inner])] : ['plugins', ...place.elements];
  if (elements.length < 2) throw new FileRefusal('invalid-argument', 'a place has a name');
  return elements.map(checkName);
}

function subjectOf(place: VolumePlace): string {
  return place.kind === 'pod' ? `${place.uid} ${place.plugin}/${place.volume}` : place.elements.join('/');
}

function mountTable(): MountinfoEntry[] {
  return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'));
}

function mountsAt(path: string): MountinfoEntry[] {
  return mountTable().filter(({ mountPoint }) => mountPoint === path);
}

function mountBelow(path: string): string | null {
  return mountTable().find(({ mountPoint }) => mountPoint.startsWith(`${path}/`))?.mountPoint ?? null;
}

function isWithin(path: string, { mountPoint }: MountinfoEntry): boolean {
  return path === mountPoint || path.startsWith(mountPoint === '/' ? '/' : `${mountPoint}/`);
}

type Enter = (directory: DirectoryHandle, element: string) => DirectoryHandle | null;

/** Keeps the directory open during the work. Null if the directory is absent. */
async function holding<T>(from: DirectoryHandle, elements: readonly string[], enter: Enter, work: (directory: DirectoryHandle) => Promise<T>): Promise<T | null> {
  let directory: DirectoryHandle | null = null;
  try {
    for (const element of elements) {
      const next: DirectoryHandle | null = enter(directory ?? from, element);
      directory?.close();
      directory = next;
      if (directory === null) return null;
    }
    return directory === null ? null : await work(directory);
  } finally {
    directory?.close();
  }
}
