// The runtime's own measurements: containers' use of CPU and memory, their writable layers, and the file system of images.
import type { Instant } from '../../ports/instant.js';
import type { Call } from '../../ports/operation.js';
import type { CriConnection } from './connection.js';
import { type ContainerStats, type FilesystemUsage, ImageServiceService, RuntimeServiceService, type UInt64Value } from './gen/cri-runtime-v1.js';
import { sandboxImage } from './sandbox-image.js';
import { instantOfNanos } from './values-from-cri.js';

/** Absent fields are those that the runtime leaves out. */
export interface CriContainerReading {
  readonly containerId: string;
  readonly cpu: { readonly time: Instant; readonly timeNanos: bigint; readonly usageCoreNanoSeconds?: number; readonly usageNanoCores?: number } | null;
  readonly memory: {
    readonly time: Instant;
    readonly availableBytes?: number;
    readonly usageBytes?: number;
    readonly workingSetBytes?: number;
    readonly rssBytes?: number;
    readonly pageFaults?: number;
    readonly majorPageFaults?: number;
  } | null;
  readonly swap: { readonly time: Instant; readonly swapAvailableBytes?: number; readonly swapUsageBytes?: number } | null;
  readonly writableLayer: CriFilesystemReading | null;
}

export interface CriFilesystemReading {
  readonly time: Instant;
  /** null: not reported. */
  readonly mountpoint: string | null;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

export class CriStats {
  constructor(
    private readonly connection: CriConnection,
    private readonly imageConnection: CriConnection,
  ) {}

  /** Of all containers. `unimplemented` on an older runtime. */
  async containers(call: Call): Promise<readonly CriContainerReading[]> {
    const { stats } = await this.connection.unary(RuntimeServiceService.listContainerStats, { filter: undefined }, call, this.target('stats.containers'));
    return stats.flatMap((one) => (one.attributes === undefined ? [] : [reading(one.attributes.id, one)]));
  }

  async imageFilesystems(call: Call): Promise<readonly CriFilesystemReading[]> {
    const { imageFilesystems } = await this.imageConnection.unary(ImageServiceService.imageFsInfo, {}, call, this.target('stats.imageFilesystems'));
    return imageFilesystems.map(filesystem);
  }

  /** See sandbox-image.ts. */
  sandboxImage(call: Call): Promise<string | null> {
    return sandboxImage(this.connection, call, 'stats.sandboxImage');
  }

  private target(operation: string) {
    return { operation, subject: '', deadlineMicros: this.connection.requestTimeoutMicros };
  }
}

function reading(containerId: string, { cpu, memory, swap, writableLayer }: ContainerStats): CriContainerReading {
  return {
    containerId,
    cpu:
      cpu === undefined
        ? null
        : { time: instantOfNanos(cpu.timestamp), timeNanos: cpu.timestamp, ...of('usageCoreNanoSeconds', cpu.usageCoreNanoSeconds), ...of('usageNanoCores', cpu.usageNanoCores) },
    memory:
      memory === undefined
        ? null
        : {
            time: instantOfNanos(memory.timestamp),
            ...of('availableBytes', memory.availableBytes),
            ...of('usageBytes', memory.usageBytes),
            ...of('workingSetBytes', memory.workingSetBytes),
            ...of('rssBytes', memory.rssBytes),
            ...of('pageFaults', memory.pageFaults),
            ...of('majorPageFaults', memory.majorPageFaults),
          },
    swap: swap === undefined ? null : { time: instantOfNanos(swap.timestamp), ...of('swapAvailableBytes', swap.swapAvailableBytes), ...of('swapUsageBytes', swap.swapUsageBytes) },
    writableLayer: writableLayer === undefined ? null : filesystem(writableLayer),
  };
}

function filesystem({ timestamp, fsId, usedBytes, inodesUsed }: FilesystemUsage): CriFilesystemReading {
  return { time: instantOfNanos(timestamp), mountpoint: fsId?.mountpoint ?? null, ...of('usedBytes', usedBytes), ...of('inodesUsed', inodesUsed) };
}

function of<Key extends string>(key: Key, value: UInt64Value | undefined): { readonly [K in Key]?: number } {
  return value === undefined ? {} : ({ [key]: Number(value.value) } as { readonly [K in Key]?: number });
}
