// Mounts in pods' volumes, as a model: mount points by their path below the pod's directory, or below `plugins`, with their sources.
import { joinPath } from '../../domain/values/slash-paths.js';
import type { LeftVolume } from '../../ports/outbound/pod-volumes.js';
import type { FoundPodVolumes, VolumeMountOperations, VolumePlace } from '../../ports/outbound/volume-mounts.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';
import { devicesOf } from './sim-block-devices.js';
import { csiDataOf } from './sim-csi.js';

export class SimVolumeMounts {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  mount({ place, source }: VolumeMountOperations['mount']['request']): 'mounted' | 'present' {
    const path = this.pathOf(place);
    if (place.kind === 'pod' && !this.state.podDirectories.has(place.uid)) throw new HostRefusal('not-found', `the pod ${place.uid} has no directory`);
    if (this.state.volumeMounts.has(path)) return 'present';
    const shown = source.kind === 'bind' ? source.path : `${source.fsType} ${source.source}`;
    if (source.kind === 'bind' && !this.state.hostPaths.has(source.path)) throw new HostRefusal('not-found', `mounts.bind ${path}: ENOENT`);
    this.state.volumeMounts.set(path, { shown, options: source.options, gid: 0 });
    if (place.kind === 'pod') this.state.podDirectories.get(place.uid)?.mounts.add(below(place));
    return 'mounted';
  }

  unmount({ place }: VolumeMountOperations['unmount']['request']): null {
    this.state.volumeMounts.delete(this.pathOf(place));
    if (place.kind !== 'pod') return null;
    const pod = this.state.podDirectories.get(place.uid);
    const path = below(place);
    if (pod?.volumeData.has(path) === true) throw new HostRefusal('failed-precondition', `cannot delete ${path}: it is not empty`);
    pod?.mounts.delete(path);
    return null;
  }

  setOwnership({ place, ownership }: VolumeMountOperations['setOwnership']['request']): VolumeMountOperations['setOwnership']['reply'] {
    const mount = this.state.volumeMounts.get(this.pathOf(place));
    if (mount === undefined) throw new HostRefusal('not-found', `${this.pathOf(place)}: no such file or directory`);
    const { gid } = mount;
    if (ownership.onRootMismatch && gid === ownership.gid) return { walked: false, gid, failures: 0 };
    this.state.volumeMounts.set(this.pathOf(place), { ...mount, gid: ownership.gid });
    return { walked: true, gid, failures: 0 };
  }

  /** A walk completes at once in the model; for a walk whose answer a fault delays, the scenario sets the progress. */
  ownershipProgress({ place }: VolumeMountOperations['ownershipProgress']['request']): number | null {
    return this.state.ownershipWalks.get(this.pathOf(place)) ?? null;
  }

  references({ place }: VolumeMountOperations['references']['request']): VolumeMountOperations['references']['reply'] {
    const path = this.pathOf(place);
    const own = this.state.volumeMounts.get(path);
    const pods = `${joinPath(this.settings.rootDirectory, 'pods')}/`;
    const mountPoints = [...this.state.volumeMounts].flatMap(([other, { shown }]) => (other !== path && shown === own?.shown && other.startsWith(pods) ? [other] : []));
    return { mountPoints: mountPoints.sort(), gid: own?.gid ?? null };
  }

  /** Its file systems are as most are. */
  hasLabels({ place }: VolumeMountOperations['hasLabels']['request']): boolean {
    if (!this.state.volumeMounts.has(this.pathOf(place))) throw new HostRefusal('not-found', `${this.pathOf(place)}: no such file or directory`);
    return true;
  }

  survey(): readonly FoundPodVolumes[] {
    const uids = [...this.state.podDirectories.keys()].sort();
    return uids.flatMap((uid) => {
      const volumes = volumesOf(this.state, uid);
      return volumes.length === 0 ? [] : [{ uid, volumes }];
    });
  }

  private pathOf(place: VolumePlace): string {
    const elements = place.kind === 'pod' ? ['pods', place.uid, below(place)] : ['plugins', ...place.elements];
    for (const element of place.kind === 'pod' ? [place.uid, place.plugin, place.volume] : place.elements) checkName(element);
    return joinPath(this.settings.rootDirectory, ...elements);
  }
}

/** Directories of volumes, of this and earlier agents. */
export function volumesOf(state: SimHostState, uid: string): LeftVolume[] {
  const pod = state.podDirectories.get(uid);
  const left = [...(pod?.volumeData ?? []), ...(pod?.mounts ?? [])].filter((path) => path.startsWith('volumes/')).map((path) => path.split('/').slice(1, 3).join('/'));
  const paths = [...new Set([...(pod?.volumes.keys() ?? []), ...left])].sort();
  const mounted = paths.map((path) => ({
    plugin: path.slice(0, path.indexOf('/')),
    volume: path.slice(path.indexOf('/') + 1),
    isDevice: false,
    data: path.startsWith('kubernetes.io~csi/') ? csiDataOf(state, uid, path) : null,
  }));
  return [...mounted, ...devicesOf(state, uid)];
}

function below({ plugin, volume, inner }: Extract<VolumePlace, { kind: 'pod' }>): string {
  return ['volumes', plugin, volume, ...(inner === null ? [] : [inner])].join('/');
}
