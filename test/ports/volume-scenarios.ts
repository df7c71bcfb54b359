// What an agent does with a pod's volumes on a file system, as one run: everything is set up and filled, or everything is taken down.

import type { NativeLinux } from '../../src/adapters/native-linux/index.js';
import { FilePodDirectories, FilePodVolumes, FileVolumeMounts } from '../../src/adapters/storage/index.js';
import { utf8Encode } from '../../src/domain/values/utf8.js';
import { comparedPaths, planAtomicWrite } from '../../src/domain/volumes/atomic-writer.js';
import type { VolumePayload } from '../../src/domain/volumes/volume-payload.js';
import type { Call } from '../../src/ports/operation.js';
import type { VolumeSetUp } from '../../src/ports/outbound/pod-volumes.js';
import type { VolumePlace } from '../../src/ports/outbound/volume-mounts.js';

const call: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
export const uid = 'u1';

const none = { gid: null, tmpfs: null, hugePages: null };
export const memory: VolumeSetUp = { uid, plugin: 'kubernetes.io~empty-dir', volume: 'memory', marker: 'memory', mode: 0o777, ...none, tmpfs: { sizeBytes: 1 << 20 } };
const disk: VolumeSetUp = { uid, plugin: 'kubernetes.io~empty-dir', volume: 'disk', marker: 'disk', mode: 0o2777, ...none, gid: 4711 };
export const config: VolumeSetUp = { uid, plugin: 'kubernetes.io~configmap', volume: 'config', marker: 'wrapped_config', mode: 0o777, ...none };
export const local: VolumePlace = { kind: 'pod', uid, plugin: 'kubernetes.io~local-volume', volume: 'pv', inner: null };

export const payloadOf = (version: string): VolumePayload =>
  new Map([`only-in-${version}`, 'both', 'deep/er'].map((path) => [path, { bytes: utf8Encode(`${path} ${version}`), mode: 0o640, fsUser: null }] as const));

export class VolumesOnDisk {
  readonly directories: FilePodDirectories;
  readonly volumes: FilePodVolumes;
  readonly mounts: FileVolumeMounts;

  constructor(
    private readonly base: string,
    native: Pick<NativeLinux, 'mounts' | 'trees' | 'openBeneath'>,
  ) {
    const rootDirectory = `${base}/root`;
    this.directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory: `${base}/logs` });
    this.volumes = FilePodVolumes.open({ rootDirectory }, native.mounts, native.openBeneath);
    this.mounts = FileVolumeMounts.open({ rootDirectory, helperDirectories: [] }, native.mounts, native.trees);
  }

  async setUp(version: string): Promise<void> {
    await this.directories.prepare({ uid }, call);
    for (const volume of [memory, disk, config]) await this.volumes.setUp(volume, call);
    await this.mounts.mount({ place: local, source: { kind: 'bind', path: `${this.base}/data`, options: ['ro'] } }, call);
    await this.write(version);
  }

  /** As the agent writes the data of the API. */
  async write(version: string): Promise<void> {
    const payload = payloadOf(version);
    const content = await this.volumes.read({ ...config, paths: comparedPaths(payload) }, call);
    const directory = { path: '', entries: new Map(content.entries), generationPaths: content.generationPaths, readings: new Map(content.readings) };
    let generation = `..2026_01_01_00_00_00.${version.length}`;
    while (directory.entries.has(generation)) generation += '0';
    const plan = planAtomicWrite(payload, directory, generation, null);
    if (plan.kind === 'refused') throw new Error(plan.message);
    const { steps, switchAt, undo } = plan;
    const ported = (list: typeof steps) => list.flatMap((step) => (step.operation === 'apply-fs-group' ? [] : [step]));
    if (steps.length > 0) await this.volumes.write({ ...config, steps: ported(steps), switchAt, undo: ported(undo) }, call);
  }

  /** By what is found on disk, as the agent does. */
  async tearDown(): Promise<void> {
    const { volumes } = await this.volumes.list({ uid }, call);
    for (const { plugin, volume } of volumes) {
      const isMounted = plugin === 'kubernetes.io~local-volume';
      const marker = plugin === 'kubernetes.io~configmap' ? `wrapped_${volume}` : volume;
      if (isMounted) await this.mounts.unmount({ place: { kind: 'pod', uid, plugin, volume, inner: null }, forceAfter: null }, call);
      else await this.volumes.tearDown({ uid, plugin, volume, marker }, call);
    }
    await this.directories.remove({ uid }, call);
  }

  close(): void {
    this.directories.close();
    this.volumes.close();
    this.mounts.close();
  }
}

export async function play(base: string, scenario: string, native: Pick<NativeLinux, 'mounts' | 'trees' | 'openBeneath'>): Promise<void> {
  const disk = new VolumesOnDisk(base, native);
  if (scenario === 'tear-down') await disk.tearDown();
  else await disk.setUp(scenario);
}
