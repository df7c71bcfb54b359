// Pods' volumes and the host's paths as a model: directories, links and payload files by path, and which of them are tmpfs.
// A scenario puts things on the host with `putHostPath`, and mounts things into volumes with `SimPodDirectories.mount`.
import { podVolumeDirectory } from '../../domain/values/pod-directories.js';
import type {
  HostPathKind,
  HostPathOperations,
  PayloadReading,
  PayloadStep,
  PodVolumeOperations,
  VolumeAddress,
  VolumeContent,
  VolumeEntry,
  VolumeLeftovers,
} from '../../ports/outbound/pod-volumes.js';
import type { SimHostSettings } from './host-options.js';
import type { SimHostState, SimPodDirectory, SimVolume, SimVolumeNode } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';
import type { SimSubPaths } from './sim-sub-paths.js';
import { volumesOf } from './sim-volume-mounts.js';

/** As in the real adapter. */
const readFileBytesMax = 1024 * 1024;

export class SimPodVolumes {
  constructor(
    private readonly state: SimHostState,
    private readonly settings: SimHostSettings,
    private readonly subPaths: SimSubPaths,
  ) {}

  setUp(request: PodVolumeOperations['setUp']['request']): null {
    const pod = this.pod(request);
    if (pod === null) throw new HostRefusal('not-found', `the pod ${request.uid} has no directory`);
    const key = keyOf(request);
    const present = pod.volumes.get(key);
    const tmpfs = request.tmpfs?.sizeBytes ?? (request.hugePages === null ? null : 0);
    const isWhole = present !== undefined && (tmpfs === null || present.tmpfsBytes !== null);
    if (pod.readyVolumes.has(request.marker) && isWhole) return null;
    pod.volumes.set(key, { mode: request.mode, gid: request.gid, tmpfsBytes: tmpfs, nodes: present?.nodes ?? new Map() });
    pod.readyVolumes.add(request.marker);
    return null;
  }

  read(request: PodVolumeOperations['read']['request']): VolumeContent {
    const { nodes } = this.volume(request);
    const entries = [...nodes].flatMap(([path, node]): (readonly [string, VolumeEntry])[] => (path.includes('/') ? [] : [[path, entryOf(node)]]));
    const data = nodes.get('..data');
    const generation = data?.kind === 'symlink' && nodes.get(data.target)?.kind === 'directory' ? `${data.target}/` : null;
    const generationPaths = generation === null ? null : [...nodes.keys()].flatMap((path) => (path.startsWith(generation) ? [path.slice(generation.length)] : []));
    const directory = podVolumeDirectory(this.settings.rootDirectory, request.uid, request.plugin, request.volume);
    const reading = (path: string): PayloadReading => {
      const node = generation === null ? undefined : nodes.get(`${generation}${path}`);
      if (node === undefined) return { kind: 'absent' };
      return node.kind === 'file' ? { kind: 'file', bytes: node.bytes } : { kind: 'failed', message: `read ${directory}/${generation ?? ''}${path}: is a directory` };
    };
    return { entries, generationPaths, readings: request.paths.map((path) => [path, reading(path)]) };
  }

  /** Links are not followed here. */
  readFiles({ files }: PodVolumeOperations['readFiles']['request']): PodVolumeOperations['readFiles']['reply'] {
    return {
      contents: files.map((file) => {
        const node = this.pod(file)?.volumes.get(keyOf(file))?.nodes.get(file.path);
        return node?.kind === 'file' && node.bytes.length <= readFileBytesMax ? node.bytes : null;
      }),
    };
  }

  write(request: PodVolumeOperations['write']['request']): null {
    const volume = this.volume(request);
    for (const [i, step] of request.steps.entries()) {
      try {
        carryOut(volume, step);
      } catch (error) {
        if (i <= request.switchAt) for (const back of request.undo) carryOut(volume, back);
        throw error;
      }
    }
    return null;
  }

  tearDown(address: PodVolumeOperations['tearDown']['request']): null {
    const pod = this.pod(address);
    if (pod === null) return null;
    const bound = [...pod.subPaths].find(([path, { source }]) => source !== null && path.startsWith(`${address.volume}/`));
    if (bound !== undefined) throw new HostRefusal('failed-precondition', `volume-subpaths/${bound[0]} is still mounted`);
    pod.readyVolumes.delete(address.marker);
    const path = `volumes/${keyOf(address)}`;
    const mounted = [...pod.mounts].find((mount) => mount === path || mount.startsWith(`${path}/`));
    if (mounted !== undefined) throw new HostRefusal('failed-precondition', `${mounted} is still mounted`);
    pod.volumes.delete(keyOf(address));
    for (const data of pod.volumeData) if (data === path || data.startsWith(`${path}/`)) pod.volumeData.delete(data);
    return null;
  }

  list({ uid }: PodVolumeOperations['list']['request']): VolumeLeftovers {
    const pod = this.state.podDirectories.get(checkName(uid));
    return { volumes: volumesOf(this.state, uid), subPaths: this.subPaths.list(pod) };
  }

  inspectHostPath({ path }: HostPathOperations['inspect']['request']): HostPathKind {
    return this.state.hostPaths.get(path) ?? 'absent';
  }

  makeHostPath({ path, kind }: HostPathOperations['make']['request']): null {
    const present = this.state.hostPaths.get(path);
    if (present !== undefined && present !== kind) throw new HostRefusal('already-exists', `${path} is a ${present}`);
    const parent = path.slice(0, path.lastIndexOf('/'));
    if (kind === 'file' && parent !== '' && this.state.hostPaths.get(parent) !== 'directory') throw new HostRefusal('not-found', `open ${path}: no such file or directory`);
    this.putHostPath(path, kind);
    return null;
  }

  /** Something is at a path of the host, with the directories above it. */
  putHostPath(path: string, kind: Exclude<HostPathKind, 'absent'>): void {
    for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) this.state.hostPaths.set(path.slice(0, slash), 'directory');
    this.state.hostPaths.set(path, kind);
  }

  private pod({ uid, plugin, volume, marker }: VolumeAddress): SimPodDirectory | null {
    for (const name of [uid, plugin, volume, marker]) checkName(name);
    return this.state.podDirectories.get(uid) ?? null;
  }

  private volume(address: VolumeAddress): SimVolume {
    const volume = this.pod(address)?.volumes.get(keyOf(address));
    if (volume === undefined) throw new HostRefusal('not-found', `the pod ${address.uid} has no volume ${keyOf(address)}`);
    return volume;
  }
}

function keyOf({ plugin, volume }: VolumeAddress): string {
  return `${plugin}/${volume}`;
}

function entryOf(node: SimVolumeNode): VolumeEntry {
  return node.kind === 'symlink' ? { kind: 'symlink', target: node.target } : { kind: node.kind };
}

function carryOut(volume: SimVolume, step: PayloadStep): void {
  const { nodes } = volume;
  switch (step.operation) {
    case 'make-directory':
      put(nodes, step.path, { kind: 'directory', mode: step.mode, gid: 0 });
      return;
    case 'write-file':
      put(nodes, step.path, { kind: 'file', bytes: step.bytes, mode: step.mode, uid: 0, gid: 0 });
      return;
    case 'change-owner': {
      const node = nodes.get(step.path);
      if (node === undefined) throw new HostRefusal('not-found', `${step.path}: no such file or directory`);
      if (node.kind === 'file') nodes.set(step.path, { ...node, uid: step.uid });
      return;
    }
    case 'apply-fs-group':
      for (const [path, node] of nodes) {
        if (node.kind === 'file') nodes.set(path, { ...node, gid: step.gid, mode: node.mode | step.fileBits });
        else if (node.kind === 'directory') nodes.set(path, { ...node, gid: step.gid, mode: node.mode | step.directoryBits });
      }
      volume.gid = step.gid;
      volume.mode |= step.directoryBits;
      return;
    case 'make-symlink':
      put(nodes, step.path, { kind: 'symlink', target: step.target });
      return;
    case 'rename': {
      const node = nodes.get(step.from);
      if (node === undefined) throw new HostRefusal('not-found', `rename ${step.from}: no such file or directory`);
      nodes.delete(step.from);
      nodes.set(step.to, node);
      return;
    }
    case 'remove-link':
      nodes.delete(step.path);
      return;
    case 'remove-tree':
      for (const path of nodes.keys()) if (path === step.path || path.startsWith(`${step.path}/`)) nodes.delete(path);
  }
}

function put(nodes: Map<string, SimVolumeNode>, path: string, node: SimVolumeNode): void {
  path.split('/').forEach(checkName);
  if (nodes.has(path)) throw new HostRefusal('already-exists', `${path}: file exists`);
  const slash = path.lastIndexOf('/');
  if (slash > 0 && nodes.get(path.slice(0, slash))?.kind !== 'directory') throw new HostRefusal('not-found', `${path}: no such file or directory`);
  nodes.set(path, node);
}
