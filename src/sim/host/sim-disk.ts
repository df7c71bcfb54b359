// The one disk of a simulated host, and the usage of it and of memory by the node and its pods.
import { instantOf } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { NodeStatsOperations } from '../../ports/outbound/node-stats.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import { podsDiskBytes, type SimRunningPod, simNodeStats } from './sim-node-stats.js';

/** EXT4_SUPER_MAGIC of statfs(2). */
const ext4 = 0xef53n;

/** What changes outside the host's own state. */
export interface DiskUsers {
  /** Bytes of the runtime's images. */
  imageBytes(): number;
  /** Pods of which containers run. */
  runningPods(): readonly SimRunningPod[];
  /** The offset of the node's wall clock from the model's time. */
  readonly wallOffset: Micros;
}

export class SimDisk implements ModelOf<FilesystemUsageOperations>, ModelOf<NodeStatsOperations> {
  constructor(
    private readonly state: SimHostState,
    private readonly users: DiskUsers,
  ) {}

  usage(): FilesystemUsageOperations['usage']['reply'] {
    const freeBytes = BigInt(this.freeBytes());
    return { type: ext4, capacityBytes: BigInt(this.state.disk.capacityBytes), freeBytes, availableBytes: freeBytes, inodes: 0n, inodesFree: 0n, mountOptions: null };
  }

  summary(_request: NodeStatsOperations['summary']['request'], now: Micros): NodeStatsOperations['summary']['reply'] {
    const { usage, disk, machine } = this.state;
    const { memoryBytes, maxPids } = machine.reading;
    return simNodeStats(
      { usage, memoryBytes, maxPids, running: this.users.runningPods(), disk: { capacityBytes: disk.capacityBytes, availableBytes: this.freeBytes() } },
      instantOf(now + this.users.wallOffset),
    );
  }

  private freeBytes(): number {
    const { capacityBytes, otherBytes } = this.state.disk;
    return Math.max(0, capacityBytes - otherBytes - this.users.imageBytes() - podsDiskBytes(this.state.usage, this.users.runningPods()));
  }
}
