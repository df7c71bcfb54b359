// Sub paths as a model: the content of pods' volumes and of host paths, and the bind mounts below a pod's directory.
// Invariant: a bind mount's file exists, and nothing is removed while it is bound.
import { podVolumeDirectory } from '../../domain/values/pod-directories.js';
import type { PathEntry, SubPathOperations, SubPathStep, VolumeLeftovers } from '../../ports/outbound/pod-volumes.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState, SimPodDirectory, SimVolume } from './host-state.js';
import { checkName, elementsBelow, HostRefusal } from './refusal.js';

interface Place {
  readonly volume: SimVolume;
  /** `''`: the volume itself. */
  readonly path: string;
}

export class SimSubPaths {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
  ) {}

  look({ path }: SubPathOperations['look']['request']): SubPathOperations['look']['reply'] {
    const place = this.place(path);
    const node = place === null || place.path === '' ? null : (place.volume.nodes.get(place.path) ?? null);
    if (place !== null && place.path !== '') {
      if (node === null) return { entry: { kind: 'absent' }, mode: 0 };
      return node.kind === 'symlink' ? { entry: { kind: 'symlink', target: node.target }, mode: 0o777 } : { entry: { kind: node.kind }, mode: node.mode };
    }
    return { entry: this.outside(path), mode: place?.volume.mode ?? 0o755 };
  }

  compare({ source, target }: SubPathOperations['compare']['request']): SubPathOperations['compare']['reply'] {
    const bound = this.entryOf(target)?.source ?? null;
    return bound === null ? 'none' : bound === source ? 'same-file' : 'other-file';
  }

  carryOut({ uid, steps }: SubPathOperations['carryOut']['request']): null {
    const pod = this.state.podDirectories.get(checkName(uid));
    if (pod === undefined) throw new HostRefusal('not-found', `the pod ${uid} has no directory`);
    for (const step of steps) this.step(uid, pod, step);
    return null;
  }

  list(pod: SimPodDirectory | undefined): VolumeLeftovers['subPaths'] {
    const volumes = new Map<string, Map<string, { name: string; isMounted: boolean }[]>>();
    for (const [path, { source }] of pod?.subPaths ?? []) {
      const [volume = '', container = '', index] = path.split('/');
      const containers = volumes.get(volume) ?? new Map<string, { name: string; isMounted: boolean }[]>();
      volumes.set(volume, containers);
      const entries = containers.get(container) ?? [];
      if (container !== '') containers.set(container, entries);
      if (index !== undefined) entries.push({ name: index, isMounted: source !== null });
    }
    return [...volumes]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([volume, containers]) => ({ volume, containers: [...containers].map(([name, entries]) => ({ name, isDirectory: true, entries })) }));
  }

  private step(uid: string, pod: SimPodDirectory, step: SubPathStep): void {
    if (step.operation === 'make-directory') {
      this.makeDirectory(step.path, step.mode);
      return;
    }
    const target = step.operation === 'bind' ? step.target : step.path;
    // The whole directory is removed with the last volume's.
    if (step.operation === 'remove-if-empty') return;
    const elements = elementsBelow(`${this.settings.rootDirectory}/pods/${uid}/volume-subpaths`, target);
    this.stepBelow(pod, elements, step);
  }

  private stepBelow(pod: SimPodDirectory, elements: readonly string[], step: Exclude<SubPathStep, { operation: 'make-directory' | 'remove-if-empty' }>): void {
    const path = elements.join('/');
    const entry = pod.subPaths.get(path);
    switch (step.operation) {
      case 'ensure-directory':
      case 'ensure-file':
        for (let i = 1; i <= elements.length; i++) {
          const part = elements.slice(0, i).join('/');
          if (!pod.subPaths.has(part)) pod.subPaths.set(part, { source: null });
        }
        return;
      case 'unmount':
        if (entry !== undefined) pod.subPaths.set(path, { source: null });
        return;
      case 'bind':
        if (entry === undefined || this.look({ path: step.source }).entry.kind === 'absent') throw new HostRefusal('not-found', `${step.source}: no such file or directory`);
        pod.subPaths.set(path, { source: step.source });
        return;
      case 'remove':
        if (entry?.source != null) throw new HostRefusal('failed-precondition', `${path} is still mounted`);
        if ([...pod.subPaths.keys()].some((other) => other.startsWith(`${path}/`))) throw new HostRefusal('failed-precondition', `${path} is not empty`);
        pod.subPaths.delete(path);
        return;
    }
  }

  private makeDirectory(path: string, mode: number): void {
    if (this.look({ path }).entry.kind !== 'absent') throw new HostRefusal('already-exists', `${path}: file exists`);
    const place = this.place(path);
    if (place === null) this.state.hostPaths.set(path, 'directory');
    else place.volume.nodes.set(place.path, { kind: 'directory', mode, gid: place.volume.gid ?? 0 });
  }

  private entryOf(target: string): { readonly source: string | null } | null {
    const [uid = '', , ...elements] = elementsBelow(`${this.settings.rootDirectory}/pods`, target);
    return this.state.podDirectories.get(uid)?.subPaths.get(elements.join('/')) ?? null;
  }

  /** The volume of a pod that the path is in. */
  private place(path: string): Place | null {
    for (const [directory, volume] of this.directories()) {
      if (path === directory) return { volume, path: '' };
      if (path.startsWith(`${directory}/`)) return { volume, path: path.slice(directory.length + 1) };
    }
    return null;
  }

  private outside(path: string): PathEntry {
    for (const [directory] of this.directories()) if (directory === path || directory.startsWith(`${path}/`)) return { kind: 'directory' };
    const kind = this.state.hostPaths.get(path) ?? 'absent';
    return { kind: kind === 'directory' || kind === 'file' || kind === 'absent' ? kind : 'other' };
  }

  private directories(): (readonly [directory: string, volume: SimVolume])[] {
    return [...this.state.podDirectories].flatMap(([uid, { volumes }]) =>
      [...volumes].map(([key, volume]) => {
        const [plugin = '', name = ''] = key.split('/');
        return [podVolumeDirectory(this.settings.rootDirectory, uid, plugin, name), volume] as const;
      }),
    );
  }
}
