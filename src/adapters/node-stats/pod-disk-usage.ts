// The disk usage of pods: logs, hosts files, volumes. Walks are slow, so they run one after the other in the background,
// and answers show the last results.
//
// Invariants: one walk at a time, except for unresponsive file systems, each of which delays only its own pod's numbers; a pod's
// volumes are walked again at the earliest after their period, spread over another period; results of removed pods are dropped.

import { freeSpace, inodesUsedOf } from '../../domain/values/filesystem-space.js';
import { formatRfc3339 } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { FilesystemNumbers, MeasuredVolume, Used } from '../../ports/model/node-measurements.js';
import type { Pod } from '../../ports/model/pod.js';
import type { VolumeStats } from '../../ports/model/stats-summary.js';
import type { QuotaPlace } from '../../ports/outbound/project-quotas.js';

export interface DriverUsage {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
  /** Absent: the driver doesn't report it, or must not be asked. */
  readonly volumeHealthStats?: { readonly abnormal: boolean };
}

export interface DiskWalks {
  /** The files directly in a directory; null if it is absent. */
  files(directory: string): Promise<Used | null>;
  /** A whole tree; null if it is absent. */
  tree(directory: string): Promise<Required<Used> | null>;
  /** The same of a volume, which may never answer. */
  volume(directory: string): Promise<Required<Used> | null>;
  /** A volume's usage by the file system's own accounting; null: not available. */
  quota(place: QuotaPlace): Promise<Required<Used> | null>;
  /** A volume's usage by its driver; null: not available. @param abnormal called with the driver's message if the volume is abnormal */
  driver(volume: MeasuredVolume, abnormal: (message: string) => void): Promise<DriverUsage | null>;
  /** null: unknown, or not in time. */
  filesystem(path: string): Promise<Omit<FilesystemNumbers, 'device'> | null>;
}

export interface PodDiskUsageOptions {
  readonly walks: DiskWalks;
  /** Those of a pod that can be measured now. */
  readonly volumes: (pod: Pod) => readonly MeasuredVolume[];
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  /** Between two measurements of a pod's volumes; 0 or less: never. */
  readonly volumePeriod: Micros;
  readonly now: () => Micros;
  readonly wall: () => Instant;
  /** In [0, 1). */
  readonly random: () => number;
  /** How long the measurement of a pod's volumes delays those of others; default 10 s. */
  readonly patienceMillis?: number;
  /** Called after each measurement of a volume with its duration and method: `du`, `fsquota`, `statfs`, a driver's name. */
  readonly onMeasured?: (took: Micros, source: string) => void;
  /** Called at each measurement of a volume whose driver reports it as abnormal. */
  readonly onAbnormal?: (uid: string, volumeName: string, message: string) => void;
}

/** Logs grow continuously; measuring them is cheap. */
const logPeriod: Micros = 10_000_000;

interface PodUsage {
  logsAt: Micros;
  volumesAt: Micros;
  /** A measurement of its volumes is in progress. */
  walking: boolean;
  containerLogs: ReadonlyMap<string, Used>;
  podLogs: Used | null;
  etcHosts: Used | null;
  ephemeral: readonly VolumeStats[];
  persistent: readonly VolumeStats[];
}

/** A slower measurement continues in the background, and the next volume is measured: its file server may never answer. */
const patienceMillis = 10_000;

export class PodDiskUsage {
  private readonly known = new Map<string, PodUsage>();
  private walking: Promise<void> | null = null;

  constructor(private readonly options: PodDiskUsageOptions) {}

  of(uid: string): Readonly<PodUsage> | null {
    return this.known.get(uid) ?? null;
  }

  /** Measures everything due. Resolves when the logs of all pods have been measured once; the rest continues in the background. */
  async refresh(pods: readonly Pod[]): Promise<void> {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
    for (const uid of this.known.keys()) if (!uids.has(uid)) this.known.delete(uid);
    for (const pod of pods) await this.refreshLogs(pod);
    this.walking ??= this.walkVolumes(pods).finally(() => {
      this.walking = null;
    });
  }

  /** Waits for the walk in progress. */
  async settled(): Promise<void> {
    await this.walking;
  }

  private usage(uid: string): PodUsage {
    const known = this.known.get(uid);
    if (known !== undefined) return known;
    const fresh: PodUsage = { logsAt: -1, volumesAt: -1, walking: false, containerLogs: new Map(), podLogs: null, etcHosts: null, ephemeral: [], persistent: [] };
    this.known.set(uid, fresh);
    return fresh;
  }

  private async refreshLogs({ metadata: { name, namespace, uid = '' }, spec }: Pod): Promise<void> {
    const usage = this.usage(uid);
    const { walks, now, podLogsDirectory, rootDirectory } = this.options;
    if (now() < usage.logsAt) return;
    const directory = `${podLogsDirectory}/${namespace}_${name}_${uid}`;
    const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
    const found = await Promise.all(containers.map((container) => walks.files(`${directory}/${container.name}`)));
    usage.containerLogs = new Map(containers.flatMap((container, i) => (found[i] == null ? [] : [[container.name, usedOf(found[i])] as const])));
    usage.podLogs = orNull(await walks.files(directory));
    usage.etcHosts = orNull(await walks.tree(`${rootDirectory}/pods/${uid}/etc-hosts`));
    usage.logsAt = now() + logPeriod;
  }

  private async walkVolumes(pods: readonly Pod[]): Promise<void> {
    const { volumePeriod, now, random } = this.options;
    if (volumePeriod <= 0) return;
    for (const pod of pods) {
      const usage = this.known.get(pod.metadata.uid ?? '');
      if (usage === undefined || usage.walking || now() < usage.volumesAt) continue;
      usage.walking = true;
      const walked = this.walkPod(pod, usage).finally(() => {
        usage.walking = false;
        usage.volumesAt = now() + Math.floor(volumePeriod * (1 + random()));
      });
      await this.patiently(walked);
    }
  }

  /** Ends with the walk, or after `patienceMillis`. */
  private async patiently(walked: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.options.patienceMillis ?? patienceMillis);
      timer.unref();
    });
    await Promise.race([walked, late]).finally(() => clearTimeout(timer));
  }

  private async walkPod(pod: Pod, usage: PodUsage): Promise<void> {
    const ephemeral: VolumeStats[] = [];
    const persistent: VolumeStats[] = [];
    for (const volume of this.options.volumes(pod)) {
      const stats = await this.walkVolume(volume, pod);
      if (stats !== null) (volume.isEphemeral ? ephemeral : persistent).push(stats);
    }
    usage.ephemeral = ephemeral;
    usage.persistent = persistent;
  }

  private async walkVolume(volume: MeasuredVolume, { metadata: { namespace = '', uid = '' } }: Pod): Promise<VolumeStats | null> {
    const { name, path, how, quota, claimName, driver } = volume;
    const { walks, now, wall, onMeasured, onAbnormal } = this.options;
    const began = now();
    const claim = claimName === null ? {} : { pvcRef: { name: claimName, namespace } };
    if (driver !== null) {
      const reported = await walks.driver(volume, (message) => onAbnormal?.(uid, name, message));
      onMeasured?.(now() - began, driver.name);
      return reported === null ? null : { time: formatRfc3339(wall()), ...reported, name, ...claim };
    }
    const [counted, filesystem] = await Promise.all([quota === null ? null : walks.quota(quota), walks.filesystem(path)]);
    const used = counted ?? (how === 'tree' ? await walks.volume(path) : null);
    onMeasured?.(now() - began, how !== 'tree' ? 'statfs' : counted === null ? 'du' : 'fsquota');
    if (filesystem === null || (how === 'tree' && used === null)) return null;
    const { usedBytes } = filesystem;
    const own = used === null ? { ...(usedBytes === undefined ? {} : { usedBytes }), ...inodesUsedOf(filesystem) } : usedOf(used);
    return { time: formatRfc3339(wall()), ...freeSpace(filesystem), ...own, name, ...claim };
  }
}

/** Drops a walk's extra fields from the answer. */
function usedOf({ usedBytes, inodesUsed }: Used): Used {
  return { ...(usedBytes === undefined ? {} : { usedBytes }), ...(inodesUsed === undefined ? {} : { inodesUsed }) };
}

function orNull(used: Used | null): Used | null {
  return used === null ? null : usedOf(used);
}
