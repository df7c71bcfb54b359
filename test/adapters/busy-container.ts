// A container that has something to say for each family of /metrics/cadvisor, and its machine.
import type { CadvisorContainer, CadvisorMachine } from '../../src/adapters/metrics/index.js';

const line = { total: 1_000_000, avg10: 1, avg60: 2, avg300: 3 };
const pressure = { full: line, some: line };

const disk = {
  ...{ reads: 1, readsMerged: 2, sectorsRead: 3, readMillis: 4000, writes: 5, writesMerged: 6, sectorsWritten: 7, writeMillis: 8000 },
  ...{ inProgress: 9, busyMillis: 10_000, weightedMillis: 11_000 },
};

export const busyContainer: CadvisorContainer = {
  ...{ id: '/kubepods/poda/c1', container: 'c', image: 'busybox', name: 'c1', namespace: 'default', pod: 'a', readAtMillis: 1_700_000_000_000, startedAtMillis: 1_600_000_000_000 },
  counters: {
    cpu: { usageNanos: 1e9, userNanos: 5e8, systemNanos: 5e8, periods: 1, throttledPeriods: 1, throttledNanos: 1, burstPeriods: 1, burstNanos: 1 },
    memory: {
      ...{ usageBytes: 1, maxUsageBytes: 1, workingSetBytes: 1, rssBytes: 1, cacheBytes: 1, mappedFileBytes: 1, kernelBytes: 1, swapBytes: 1 },
      ...{ activeFileBytes: 1, inactiveFileBytes: 1, failures: 1, ownPageFaults: 1, ownMajorPageFaults: 1, pageFaults: 1, majorPageFaults: 1 },
    },
    limits: { cpuShares: 1024, cpuQuotaMicros: 20_000, cpuPeriodMicros: 100_000, memoryBytes: 1n, swapBytes: 1n, reservationBytes: 1n, threads: 9 },
    ...{ pids: [1], threads: 2, oomKills: 1 },
    io: [{ device: '8:0', readBytes: 1024, writeBytes: 2048, reads: 1, writes: 2 }],
    pressure: { cpu: pressure, memory: pressure, io: pressure },
  },
  interfaces: [{ name: 'eth0', rxBytes: 1, rxPackets: 1, rxErrors: 0, rxDropped: 0, txBytes: 1, txPackets: 1, txErrors: 0, txDropped: 0 }],
  openFiles: { descriptors: 3, sockets: 1, openFilesMax: 1024 },
  filesystems: [{ device: '/dev/sda1', capacityBytes: 10, usedBytes: 5, inodes: 9, inodesFree: 3, disk }],
};

export const busyMachine: CadvisorMachine = {
  ...{ machineId: 'm', systemUuid: 's', bootId: 'b', cpus: 2, physicalCores: 1, sockets: 1, memoryBytes: 1e10, swapBytes: 0, kernelVersion: '6.1', osVersion: 'Debian' },
};
