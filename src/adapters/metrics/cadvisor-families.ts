// The families of /metrics/cadvisor: the kernel's counters of each cgroup, with cAdvisor's names and labels.
// Invariants: every container_* series has the labels container, id, image, name, namespace and pod, blank when unknown; a family without
// a value for a cgroup has no series for it.
import type { CgroupCounters, DeviceIo, DiskCounters, InterfaceCounters, MemoryCounters, Pressure } from '../linux/index.js';
import { escapedLabel, labelText, MetricFamily, type MetricType } from './metrics-text.js';

export interface CadvisorContainer {
  /** The cgroup's path. */
  readonly id: string;
  /** '' where it is of no container, and for a sandbox. */
  readonly container: string;
  readonly image: string;
  /** The runtime's id of the container or sandbox. */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
  readonly readAtMillis: number;
  readonly startedAtMillis: number;
  readonly counters: CgroupCounters;
  readonly interfaces: readonly InterfaceCounters[];
  /** null: not inspected. */
  readonly openFiles: { readonly descriptors: number; readonly sockets: number; readonly openFilesMax: number | null } | null;
  readonly filesystems: readonly CadvisorFilesystem[];
}

export interface CadvisorFilesystem {
  readonly device: string;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Of the disk below it; null: there is none, or it is not known. */
  readonly disk: DiskCounters | null;
}

export interface CadvisorMachine {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly cpus: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly kernelVersion: string;
  readonly osVersion: string;
}

/** The kernel reports "unlimited" as a number above this. */
const unlimitedAbove = 2n ** 62n;
const sectorBytes = 512;
/** A series for `name`: between `container` and `id`, `image` and `name`, or after `pod`, as label names sort. */
type Labels = (extra?: readonly [name: string, value: string]) => string;

export class CadvisorFamilies {
  private readonly families = new Map<string, MetricFamily>();

  /** @param deviceName of `major:minor` */
  constructor(
    private readonly nowMillis: number,
    private readonly deviceName: (device: string) => string,
  ) {}

  all(): Iterable<MetricFamily> {
    return this.families.values();
  }

  addContainer(container: CadvisorContainer): void {
    const labels = labelsOf(container);
    const { counters, readAtMillis } = container;
    this.gauge('container_last_seen', 'Last time a container was seen by the exporter').add(labels(), Math.floor(this.nowMillis / 1000), this.nowMillis);
    this.gauge('container_start_time_seconds', 'Start time of the container since unix epoch in seconds.').add(labels(), Math.floor(container.startedAtMillis / 1000), null);
    this.addCpu(labels, counters, readAtMillis);
    if (counters.memory !== null) this.addMemory(labels, counters.memory, readAtMillis);
    this.addProcesses(labels, container);
    this.counter('container_oom_events_total', 'Count of out of memory events observed for the container').add(labels(), counters.oomKills, readAtMillis);
    const counted = new Set(counters.io.map(({ device }) => this.deviceName(device)));
    for (const filesystem of container.filesystems) {
      this.addFilesystem(labels, filesystem, readAtMillis);
      if (filesystem.disk !== null) this.addDisk(labels, filesystem.device, filesystem.disk, counted.has(filesystem.device), readAtMillis);
    }
    for (const io of counters.io) this.addIo(labels, io, readAtMillis);
    for (const one of container.interfaces) this.addNetwork(labels, one, readAtMillis);
    if (counters.pressure !== null) for (const kind of ['cpu', 'memory', 'io'] as const) this.addPressure(labels, kind, counters.pressure[kind], readAtMillis);
    this.addSpec(labels, counters);
  }

  addMachine(machine: CadvisorMachine): void {
    const { kernelVersion, osVersion } = machine;
    const labels = labelText([
      ['boot_id', machine.bootId],
      ['machine_id', machine.machineId],
      ['system_uuid', machine.systemUuid],
    ]);
    const version = labelText([
      ['cadvisorRevision', ''],
      ['cadvisorVersion', ''],
      ['dockerVersion', ''],
      ['kernelVersion', kernelVersion],
      ['osVersion', osVersion],
    ]);
    const versionHelp = "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.";
    this.gauge('cadvisor_version_info', versionHelp).add(version, 1, null);
    this.gauge('machine_cpu_cores', 'Number of logical CPU cores.').add(labels, machine.cpus, null);
    this.gauge('machine_cpu_physical_cores', 'Number of physical CPU cores.').add(labels, machine.physicalCores, null);
    this.gauge('machine_cpu_sockets', 'Number of CPU sockets.').add(labels, machine.sockets, null);
    this.gauge('machine_memory_bytes', 'Amount of memory installed on the machine.').add(labels, machine.memoryBytes, null);
    this.gauge('machine_swap_bytes', 'Amount of swap memory available on the machine.').add(labels, machine.swapBytes, null);
  }

  /** @param failed the containers could not be read completely */
  addScrapeErrors(failed: boolean, machineFailed: boolean): void {
    this.gauge('container_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise').add('', failed ? 1 : 0, null);
    this.gauge('machine_scrape_error', '1 if there was an error while getting machine metrics, 0 otherwise.').add('', machineFailed ? 1 : 0, null);
  }

  private addCpu(labels: Labels, { cpu, limits }: CgroupCounters, at: number): void {
    if (cpu === null) return;
    this.counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.').add(labels(), cpu.userNanos / 1e9, at);
    this.counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.').add(labels(), cpu.systemNanos / 1e9, at);
    if (cpu.usageNanos > 0) this.counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.').add(labels(['cpu', 'total']), cpu.usageNanos / 1e9, at);
    if (limits.cpuQuotaMicros === null) return;
    this.counter('container_cpu_cfs_periods_total', 'Number of elapsed enforcement period intervals.').add(labels(), cpu.periods, at);
    this.counter('container_cpu_cfs_throttled_periods_total', 'Number of throttled period intervals.').add(labels(), cpu.throttledPeriods, at);
    this.counter('container_cpu_cfs_throttled_seconds_total', 'Total time duration the container has been throttled.').add(labels(), cpu.throttledNanos / 1e9, at);
    this.counter('container_cpu_cfs_burst_periods_total', 'Number of periods when burst occurs.').add(labels(), cpu.burstPeriods, at);
    this.counter('container_cpu_cfs_burst_seconds_total', 'Total time duration the container has been bursted.').add(labels(), cpu.burstNanos / 1e9, at);
  }

  private addMemory(labels: Labels, memory: MemoryCounters, at: number): void {
    const plain = labels();
    for (const [name, help, of] of memoryGauges) this.gauge(name, help).add(plain, memory[of], at);
    this.counter('container_memory_failcnt', 'Number of memory usage hits limits').add(plain, memory.failures, at);
    const failures = this.counter('container_memory_failures_total', 'Cumulative count of memory allocation failures.');
    const fault = (type: string, scope: string, value: number): void => failures.add(`${labels(['failure_type', type])},scope="${scope}"`, value, at);
    fault('pgfault', 'container', memory.ownPageFaults);
    fault('pgfault', 'hierarchy', memory.pageFaults);
    fault('pgmajfault', 'container', memory.ownMajorPageFaults);
    fault('pgmajfault', 'hierarchy', memory.majorPageFaults);
  }

  private addProcesses(labels: Labels, { counters, openFiles, readAtMillis: at }: CadvisorContainer): void {
    this.gauge('container_processes', 'Number of processes running inside the container.').add(labels(), counters.pids?.length ?? 0, at);
    this.gauge('container_threads', 'Number of threads running inside the container').add(labels(), counters.threads, at);
    this.gauge('container_threads_max', 'Maximum number of threads allowed inside the container, infinity if value is zero').add(labels(), counters.limits.threads, at);
    if (openFiles === null) return;
    this.gauge('container_file_descriptors', 'Number of open file descriptors for the container.').add(labels(), openFiles.descriptors, at);
    this.gauge('container_sockets', 'Number of open sockets for the container.').add(labels(), openFiles.sockets, at);
    if (openFiles.openFilesMax === null) return;
    const help = 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice';
    this.gauge('container_ulimits_soft', help).add(labels(['ulimit', 'max_open_files']), openFiles.openFilesMax, at);
  }

  private addFilesystem(labels: Labels, { device, capacityBytes, usedBytes, inodes, inodesFree }: CadvisorFilesystem, at: number): void {
    const named = labels(['device', device]);
    this.gauge('container_fs_inodes_free', 'Number of available Inodes').add(named, inodesFree, at);
    this.gauge('container_fs_inodes_total', 'Number of Inodes').add(named, inodes, at);
    this.gauge('container_fs_limit_bytes', 'Number of bytes that can be consumed by the container on this filesystem.').add(named, capacityBytes, at);
    this.gauge('container_fs_usage_bytes', 'Number of bytes that are consumed by the container on this filesystem.').add(named, usedBytes, at);
  }

  /** @param isCounted the cgroup itself has counters of this device */
  private addDisk(labels: Labels, device: string, disk: DiskCounters, isCounted: boolean, at: number): void {
    const named = labels(['device', device]);
    for (const [name, help, of] of diskSeconds) this.counter(name, help).add(named, disk[of] / 1e3, at);
    this.counter('container_fs_reads_merged_total', 'Cumulative count of reads merged').add(named, disk.readsMerged, at);
    this.counter('container_fs_writes_merged_total', 'Cumulative count of writes merged').add(named, disk.writesMerged, at);
    this.gauge('container_fs_io_current', 'Number of I/Os currently in progress').add(named, disk.inProgress, at);
    if (!isCounted) this.addCounts(named, disk, at);
  }

  private addIo(labels: Labels, { device, readBytes, writeBytes, reads, writes }: DeviceIo, at: number): void {
    const named = labels(['device', this.deviceName(device)]);
    this.counter('container_fs_reads_bytes_total', 'Cumulative count of bytes read').add(named, readBytes, at);
    this.counter('container_fs_writes_bytes_total', 'Cumulative count of bytes written').add(named, writeBytes, at);
    this.addCounts(named, { reads, writes, sectorsRead: Math.floor(readBytes / sectorBytes), sectorsWritten: Math.floor(writeBytes / sectorBytes) }, at);
  }

  private addCounts(named: string, { reads, writes, sectorsRead, sectorsWritten }: Pick<DiskCounters, 'reads' | 'writes' | 'sectorsRead' | 'sectorsWritten'>, at: number): void {
    this.counter('container_fs_reads_total', 'Cumulative count of reads completed').add(named, reads, at);
    this.counter('container_fs_sector_reads_total', 'Cumulative count of sector reads completed').add(named, sectorsRead, at);
    this.counter('container_fs_writes_total', 'Cumulative count of writes completed').add(named, writes, at);
    this.counter('container_fs_sector_writes_total', 'Cumulative count of sector writes completed').add(named, sectorsWritten, at);
  }

  private addNetwork(labels: Labels, one: InterfaceCounters, at: number): void {
    const named = labels(['interface', one.name]);
    for (const [name, help, of] of networkCounters) this.counter(name, help).add(named, one[of], at);
  }

  private addPressure(labels: Labels, kind: 'cpu' | 'memory' | 'io', { full, some }: Pressure, at: number): void {
    const shown = kind === 'memory' ? 'memory' : kind.toUpperCase();
    const stalled = `Total time duration no tasks in the container could make progress due to ${shown} congestion.`;
    const waiting = `Total time duration tasks in the container have waited due to ${shown} congestion.`;
    this.counter(`container_pressure_${kind}_stalled_seconds_total`, stalled).add(labels(), full.total / 1e6, at);
    this.counter(`container_pressure_${kind}_waiting_seconds_total`, waiting).add(labels(), some.total / 1e6, at);
  }

  private addSpec(labels: Labels, { limits, cpu, memory }: CgroupCounters): void {
    if (cpu !== null) {
      this.gauge('container_spec_cpu_period', 'CPU period of the container.').add(labels(), limits.cpuPeriodMicros, null);
      if (limits.cpuQuotaMicros !== null) this.gauge('container_spec_cpu_quota', 'CPU quota of the container.').add(labels(), limits.cpuQuotaMicros, null);
      this.gauge('container_spec_cpu_shares', 'CPU share of the container.').add(labels(), limits.cpuShares, null);
    }
    if (memory === null) return;
    this.gauge('container_spec_memory_limit_bytes', 'Memory limit for the container.').add(labels(), shownLimit(limits.memoryBytes), null);
    this.gauge('container_spec_memory_reservation_limit_bytes', 'Memory reservation limit for the container.').add(labels(), shownLimit(limits.reservationBytes), null);
    this.gauge('container_spec_memory_swap_limit_bytes', 'Memory swap limit for the container.').add(labels(), shownLimit(limits.swapBytes), null);
  }

  private gauge(name: string, help: string): MetricFamily {
    return this.family(name, 'gauge', help);
  }

  private counter(name: string, help: string): MetricFamily {
    return this.family(name, 'counter', help);
  }

  private family(name: string, type: MetricType, help: string): MetricFamily {
    let family = this.families.get(name);
    if (family === undefined) {
      family = new MetricFamily(name, type, help);
      this.families.set(name, family);
    }
    return family;
  }
}

const memoryGauges: readonly (readonly [name: string, help: string, of: keyof MemoryCounters])[] = [
  ['container_memory_cache', 'Number of bytes of page cache memory.', 'cacheBytes'],
  ['container_memory_rss', 'Size of RSS in bytes.', 'rssBytes'],
  ['container_memory_kernel_usage', 'Size of kernel memory allocated in bytes.', 'kernelBytes'],
  ['container_memory_mapped_file', 'Size of memory mapped files in bytes.', 'mappedFileBytes'],
  ['container_memory_swap', 'Container swap usage in bytes.', 'swapBytes'],
  ['container_memory_usage_bytes', 'Current memory usage in bytes, including all memory regardless of when it was accessed', 'usageBytes'],
  ['container_memory_max_usage_bytes', 'Maximum memory usage recorded in bytes', 'maxUsageBytes'],
  ['container_memory_working_set_bytes', 'Current working set in bytes.', 'workingSetBytes'],
  ['container_memory_total_active_file_bytes', 'Current total active file in bytes.', 'activeFileBytes'],
  ['container_memory_total_inactive_file_bytes', 'Current total inactive file in bytes.', 'inactiveFileBytes'],
];

/** Of the disks of the host, which have these counters; cgroups have not. */
const diskSeconds: readonly (readonly [name: string, help: string, of: keyof DiskCounters])[] = [
  ['container_fs_read_seconds_total', 'Cumulative count of seconds spent reading', 'readMillis'],
  ['container_fs_write_seconds_total', 'Cumulative count of seconds spent writing', 'writeMillis'],
  ['container_fs_io_time_seconds_total', 'Cumulative count of seconds spent doing I/Os', 'busyMillis'],
  ['container_fs_io_time_weighted_seconds_total', 'Cumulative weighted I/O time in seconds', 'weightedMillis'],
];

const networkCounters: readonly (readonly [name: string, help: string, of: Exclude<keyof InterfaceCounters, 'name'>])[] = [
  ['container_network_receive_bytes_total', 'Cumulative count of bytes received', 'rxBytes'],
  ['container_network_receive_errors_total', 'Cumulative count of errors encountered while receiving', 'rxErrors'],
  ['container_network_receive_packets_dropped_total', 'Cumulative count of packets dropped while receiving', 'rxDropped'],
  ['container_network_receive_packets_total', 'Cumulative count of packets received', 'rxPackets'],
  ['container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', 'txBytes'],
  ['container_network_transmit_errors_total', 'Cumulative count of errors encountered while transmitting', 'txErrors'],
  ['container_network_transmit_packets_dropped_total', 'Cumulative count of packets dropped while transmitting', 'txDropped'],
  ['container_network_transmit_packets_total', 'Cumulative count of packets transmitted', 'txPackets'],
];

function shownLimit(bytes: bigint | null): number {
  return bytes === null || bytes > unlimitedAbove ? 0 : Number(bytes);
}

/** Escapes once; a further label comes where its name sorts. */
function labelsOf({ container, id, image, name, namespace, pod }: CadvisorContainer): Labels {
  const first = `container="${escapedLabel(container)}"`;
  const middle = `id="${escapedLabel(id)}",image="${escapedLabel(image)}"`;
  const last = `name="${escapedLabel(name)}",namespace="${escapedLabel(namespace)}",pod="${escapedLabel(pod)}"`;
  const plain = `${first},${middle},${last}`;
  return (extra) => {
    if (extra === undefined) return plain;
    const label = `${extra[0]}="${escapedLabel(extra[1])}"`;
    if (extra[0] < 'id') return `${first},${label},${middle},${last}`;
    return extra[0] < 'name' ? `${first},${middle},${label},${last}` : `${plain},${label}`;
  };
}
