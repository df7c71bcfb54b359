// Space and inodes of a file system, as the stats summary has them.
import type { FilesystemNumbers } from '../../ports/model/node-measurements.js';
import type { FsStats } from '../../ports/model/stats-summary.js';

type FreeSpace = Pick<FsStats, 'availableBytes' | 'capacityBytes' | 'inodes' | 'inodesFree'>;

export function freeSpace({ availableBytes, capacityBytes, inodes, inodesFree }: Omit<FilesystemNumbers, 'device'>): FreeSpace {
  return {
    ...(availableBytes === undefined ? {} : { availableBytes }),
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
    ...(inodes === undefined ? {} : { inodes }),
    ...(inodesFree === undefined ? {} : { inodesFree }),
  };
}

/** Empty where the file system doesn't count them. */
export function inodesUsedOf({ inodes, inodesFree }: Pick<FilesystemNumbers, 'inodes' | 'inodesFree'>): Pick<FsStats, 'inodesUsed'> {
  return inodes === undefined || inodesFree === undefined ? {} : { inodesUsed: inodes - inodesFree };
}
