// The kernel's counters of one cgroup, in one form for cgroup v1 and v2 (see cgroup-v1/memory.rst and cgroup-v2.rst of the kernel).
// Invariant: an unreadable number is null or 0 as documented here; one broken file doesn't affect the values of others.
import type { NumberForm } from '../../native-linux/index.js';

export interface CpuCounters {
  readonly usageNanos: number;
  readonly userNanos: number;
  readonly systemNanos: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanos: number;
  readonly burstPeriods: number;
  readonly burstNanos: number;
}

export interface MemoryCounters {
  readonly usageBytes: number;
  readonly maxUsageBytes: number;
  /** Usage without file pages that were not used lately. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly kernelBytes: number;
  readonly swapBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  /** How often its limit was hit. */
  readonly failures: number;
  /** Of the cgroup alone; v2 doesn't report it separately. */
  readonly ownPageFaults: number;
  readonly ownMajorPageFaults: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

export interface PressureLine {
  /** Microseconds. */
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface Pressure {
  readonly full: PressureLine;
  readonly some: PressureLine;
}

export interface DeviceIo {
  /** `major:minor`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

export interface CgroupLimits {
  /** On the scale of v1, 1024 for one share. */
  readonly cpuShares: number;
  /** Microseconds in each period; null: no quota. */
  readonly cpuQuotaMicros: number | null;
  readonly cpuPeriodMicros: number;
  /** null: none. v1 writes a number beyond any memory instead. */
  readonly memoryBytes: bigint | null;
  /** v1: of memory and swap together. */
  readonly swapBytes: bigint | null;
  readonly reservationBytes: bigint | null;
  /** 0: none. */
  readonly threads: number;
}

export interface CgroupCounters {
  /** null: the cgroup has no such controller. */
  readonly cpu: CpuCounters | null;
  readonly memory: MemoryCounters | null;
  readonly limits: CgroupLimits;
  /** Processes in it, not in cgroups below it. null: unknown. */
  readonly pids: readonly number[] | null;
  readonly threads: number;
  readonly oomKills: number;
  readonly io: readonly DeviceIo[];
  /** null: the kernel has no pressure information. */
  readonly pressure: { readonly cpu: Pressure; readonly memory: Pressure; readonly io: Pressure } | null;
}

/** The files read of one cgroup. */
export interface CgroupFiles {
  /** Whether the file was read. */
  has(file: string): boolean;
  /** One of its numbers, from 0 on; NaN if absent. */
  at(file: string, position: number): number;
  /** All its numbers; null: it was not read. */
  all(file: string): readonly number[] | null;
  text(file: string): string | null;
}

/** How much of a cgroup is read, in ascending order: its processes, its usage, both, and all counters. */
export type CgroupDetail = 'processes' | 'use' | 'use-and-processes' | 'all';

/** The purpose of reading a file: `always`, or one part of the numbers. */
type Purpose = 'always' | 'use' | 'processes' | 'detail';

export function isReadFor(detail: CgroupDetail, purpose: Purpose): boolean {
  if (detail === 'all' || purpose === 'always') return true;
  return purpose === detail || (detail === 'use-and-processes' && purpose !== 'detail');
}

export interface CgroupFile {
  readonly file: string;
  readonly purpose: Purpose;
  /** null: its text. */
  readonly form: NumberForm | null;
}

const words: NumberForm = { kind: 'words' };
const assigned: NumberForm = { kind: 'assigned' };
const keyed = (keys: readonly string[]): NumberForm => ({ kind: 'keyed', keys });

const memoryStatV1 = 'total_inactive_file total_rss total_cache total_mapped_file total_swap total_active_file pgfault pgmajfault total_pgfault total_pgmajfault'.split(' ');
const ticksV1 = ['user', 'system'];
const cpuStatV1 = ['nr_periods', 'nr_throttled', 'throttled_time', 'nr_bursts', 'burst_time'];
const oomControlV1 = ['oom_kill'];

export const filesV1: readonly (CgroupFile & { readonly controller: string })[] = [
  { controller: 'cpuacct', file: 'cpuacct.usage', purpose: 'always', form: words },
  { controller: 'memory', file: 'memory.usage_in_bytes', purpose: 'use', form: words },
  { controller: 'memory', file: 'memory.stat', purpose: 'use', form: keyed(memoryStatV1) },
  { controller: 'memory', file: 'memory.limit_in_bytes', purpose: 'use', form: words },
  { controller: 'memory', file: 'memory.memsw.limit_in_bytes', purpose: 'use', form: words },
  { controller: 'cpu', file: 'cgroup.procs', purpose: 'processes', form: words },
  { controller: 'cpuacct', file: 'cpuacct.stat', purpose: 'detail', form: keyed(ticksV1) },
  { controller: 'cpu', file: 'cpu.stat', purpose: 'detail', form: keyed(cpuStatV1) },
  { controller: 'cpu', file: 'cpu.shares', purpose: 'detail', form: words },
  { controller: 'cpu', file: 'cpu.cfs_quota_us', purpose: 'detail', form: words },
  { controller: 'cpu', file: 'cpu.cfs_period_us', purpose: 'detail', form: words },
  { controller: 'memory', file: 'memory.max_usage_in_bytes', purpose: 'detail', form: words },
  { controller: 'memory', file: 'memory.failcnt', purpose: 'detail', form: words },
  { controller: 'memory', file: 'memory.soft_limit_in_bytes', purpose: 'detail', form: words },
  { controller: 'memory', file: 'memory.kmem.usage_in_bytes', purpose: 'detail', form: words },
  { controller: 'memory', file: 'memory.oom_control', purpose: 'detail', form: keyed(oomControlV1) },
  { controller: 'pids', file: 'pids.current', purpose: 'detail', form: words },
  { controller: 'pids', file: 'pids.max', purpose: 'detail', form: words },
  { controller: 'blkio', file: 'blkio.throttle.io_service_bytes', purpose: 'detail', form: null },
  { controller: 'blkio', file: 'blkio.throttle.io_serviced', purpose: 'detail', form: null },
];

const cpuStatV2 = ['usage_usec', 'user_usec', 'system_usec', 'nr_periods', 'nr_throttled', 'throttled_usec', 'nr_bursts', 'burst_usec'];
const memoryStatV2 = ['anon', 'file', 'inactive_file', 'file_mapped', 'kernel', 'active_file', 'pgfault', 'pgmajfault'];
const memoryEventsV2 = ['max', 'oom_kill'];

export const filesV2: readonly CgroupFile[] = [
  { file: 'cpu.stat', purpose: 'always', form: keyed(cpuStatV2) },
  { file: 'memory.current', purpose: 'use', form: words },
  { file: 'memory.stat', purpose: 'use', form: keyed(memoryStatV2) },
  { file: 'memory.max', purpose: 'use', form: words },
  { file: 'memory.swap.current', purpose: 'use', form: words },
  { file: 'memory.swap.max', purpose: 'use', form: words },
  { file: 'cgroup.procs', purpose: 'processes', form: words },
  { file: 'cpu.pressure', purpose: 'use', form: assigned },
  { file: 'memory.pressure', purpose: 'use', form: assigned },
  { file: 'io.pressure', purpose: 'use', form: assigned },
  { file: 'cpu.weight', purpose: 'detail', form: words },
  { file: 'cpu.max', purpose: 'detail', form: words },
  { file: 'memory.peak', purpose: 'detail', form: words },
  { file: 'memory.high', purpose: 'detail', form: words },
  { file: 'memory.events', purpose: 'detail', form: keyed(memoryEventsV2) },
  { file: 'pids.current', purpose: 'detail', form: words },
  { file: 'pids.max', purpose: 'detail', form: words },
  { file: 'io.stat', purpose: 'detail', form: null },
];

const nanosPerMicro = 1000;
/** cpuacct.stat counts in ticks of a hundredth of a second (USER_HZ). */
const nanosPerTick = 10_000_000;

export function countersV1(files: CgroupFiles): CgroupCounters {
  const number = (file: string): number => orZero(files.at(file, 0));
  const ticks = keyedOf(files, 'cpuacct.stat', ticksV1);
  const cpu = keyedOf(files, 'cpu.stat', cpuStatV1);
  const usageNanos = files.at('cpuacct.usage', 0);
  const quota = files.at('cpu.cfs_quota_us', 0);
  return {
    cpu: Number.isNaN(usageNanos)
      ? null
      : {
          usageNanos,
          userNanos: ticks('user') * nanosPerTick,
          systemNanos: ticks('system') * nanosPerTick,
          periods: cpu('nr_periods'),
          throttledPeriods: cpu('nr_throttled'),
          throttledNanos: cpu('throttled_time'),
          burstPeriods: cpu('nr_bursts'),
          burstNanos: cpu('burst_time'),
        },
    memory: memoryV1(files),
    limits: {
      cpuShares: number('cpu.shares'),
      cpuQuotaMicros: quota > 0 ? quota : null,
      cpuPeriodMicros: number('cpu.cfs_period_us'),
      memoryBytes: bigOf(files.at('memory.limit_in_bytes', 0)),
      swapBytes: bigOf(files.at('memory.memsw.limit_in_bytes', 0)),
      reservationBytes: bigOf(files.at('memory.soft_limit_in_bytes', 0)),
      threads: number('pids.max'),
    },
    pids: pidsOf(files.all('cgroup.procs')),
    threads: number('pids.current'),
    oomKills: orZero(files.at('memory.oom_control', 0)),
    io: throttledIo(files.text('blkio.throttle.io_service_bytes'), files.text('blkio.throttle.io_serviced')),
    pressure: null,
  };
}

function memoryV1(files: CgroupFiles): MemoryCounters | null {
  const usageBytes = files.at('memory.usage_in_bytes', 0);
  if (Number.isNaN(usageBytes)) return null;
  const stat = keyedOf(files, 'memory.stat', memoryStatV1);
  return {
    usageBytes,
    maxUsageBytes: orZero(files.at('memory.max_usage_in_bytes', 0)),
    workingSetBytes: Math.max(0, usageBytes - stat('total_inactive_file')),
    rssBytes: stat('total_rss'),
    cacheBytes: stat('total_cache'),
    mappedFileBytes: stat('total_mapped_file'),
    kernelBytes: orZero(files.at('memory.kmem.usage_in_bytes', 0)),
    swapBytes: stat('total_swap'),
    activeFileBytes: stat('total_active_file'),
    inactiveFileBytes: stat('total_inactive_file'),
    failures: orZero(files.at('memory.failcnt', 0)),
    ownPageFaults: stat('pgfault'),
    ownMajorPageFaults: stat('pgmajfault'),
    pageFaults: stat('total_pgfault'),
    majorPageFaults: stat('total_pgmajfault'),
  };
}

export function countersV2(files: CgroupFiles): CgroupCounters {
  const cpu = keyedOf(files, 'cpu.stat', cpuStatV2);
  const quota = files.at('cpu.max', 0);
  const weight = files.at('cpu.weight', 0);
  return {
    cpu: files.has('cpu.stat')
      ? {
          usageNanos: cpu('usage_usec') * nanosPerMicro,
          userNanos: cpu('user_usec') * nanosPerMicro,
          systemNanos: cpu('system_usec') * nanosPerMicro,
          periods: cpu('nr_periods'),
          throttledPeriods: cpu('nr_throttled'),
          throttledNanos: cpu('throttled_usec') * nanosPerMicro,
          burstPeriods: cpu('nr_bursts'),
          burstNanos: cpu('burst_usec') * nanosPerMicro,
        }
      : null,
    memory: memoryV2(files),
    limits: {
      // Maps weights 1 to 10000 to shares 2 to 262144.
      cpuShares: Number.isNaN(weight) ? 0 : 2 + Math.floor(((weight - 1) * 262_142) / 9_999),
      cpuQuotaMicros: Number.isNaN(quota) ? null : quota,
      cpuPeriodMicros: orZero(files.at('cpu.max', 1)),
      memoryBytes: bigOf(files.at('memory.max', 0)),
      swapBytes: bigOf(files.at('memory.swap.max', 0)),
      reservationBytes: bigOf(files.at('memory.high', 0)),
      threads: orZero(files.at('pids.max', 0)),
    },
    pids: pidsOf(files.all('cgroup.procs')),
    threads: orZero(files.at('pids.current', 0)),
    oomKills: keyedOf(files, 'memory.events', memoryEventsV2)('oom_kill'),
    io: unifiedIo(files.text('io.stat')),
    pressure: pressureOf(files),
  };
}

function memoryV2(files: CgroupFiles): MemoryCounters | null {
  if (!files.has('memory.stat')) return null;
  const stat = keyedOf(files, 'memory.stat', memoryStatV2);
  const current = files.at('memory.current', 0);
  // The root has no memory.current.
  const usageBytes = Number.isNaN(current) ? stat('anon') + stat('file') : current;
  const inactiveFileBytes = stat('inactive_file');
  return {
    usageBytes,
    maxUsageBytes: orZero(files.at('memory.peak', 0)),
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: stat('anon'),
    cacheBytes: stat('file'),
    mappedFileBytes: stat('file_mapped'),
    kernelBytes: stat('kernel'),
    swapBytes: orZero(files.at('memory.swap.current', 0)),
    activeFileBytes: stat('active_file'),
    inactiveFileBytes,
    failures: keyedOf(files, 'memory.events', memoryEventsV2)('max'),
    ownPageFaults: stat('pgfault'),
    ownMajorPageFaults: stat('pgmajfault'),
    pageFaults: stat('pgfault'),
    majorPageFaults: stat('pgmajfault'),
  };
}

function pressureOf(files: CgroupFiles): CgroupCounters['pressure'] {
  if (!files.has('cpu.pressure') || !files.has('memory.pressure') || !files.has('io.pressure')) return null;
  return { cpu: pressureIn(files, 'cpu.pressure'), memory: pressureIn(files, 'memory.pressure'), io: pressureIn(files, 'io.pressure') };
}

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same for `full`, which old kernels leave out for the CPU. */
function pressureIn(files: CgroupFiles, file: string): Pressure {
  const line = (from: number): PressureLine => {
    const [avg10, avg60, avg300, total] = [files.at(file, from), files.at(file, from + 1), files.at(file, from + 2), files.at(file, from + 3)];
    return Number.isNaN(total) ? noPressure : { total, avg10: orZero(avg10), avg60: orZero(avg60), avg300: orZero(avg300) };
  };
  return { full: line(4), some: line(0) };
}

const noPressure: PressureLine = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** A missing key is 0. */
function keyedOf(files: CgroupFiles, file: string, keys: readonly string[]): (key: string) => number {
  return (key) => orZero(files.at(file, keys.indexOf(key)));
}

function orZero(number: number): number {
  return Number.isNaN(number) ? 0 : number;
}

/** null: none, or not a number of bytes. The kernel's "no limit" is a whole number of pages, which a double holds exactly. */
function bigOf(number: number): bigint | null {
  return number >= 0 && Number.isInteger(number) ? BigInt(number) : null;
}

const largestPid = 2 ** 22;

/** 0 is a process of another pid namespace. */
function pidsOf(numbers: readonly number[] | null): readonly number[] | null {
  return numbers === null ? null : numbers.filter((pid) => pid >= 0 && pid <= largestPid);
}

/** `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0` */
function unifiedIo(text: string | null): readonly DeviceIo[] {
  return (text ?? '').split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    if (!/^\d+:\d+$/.test(device) || pairs.length === 0) return [];
    const of = (key: string): number => Number(pairs.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1) ?? 0) || 0;
    return [{ device, readBytes: of('rbytes'), writeBytes: of('wbytes'), reads: of('rios'), writes: of('wios') }];
  });
}

/** `8:0 Read 1`, one line an operation. */
function throttledIo(bytes: string | null, counts: string | null): readonly DeviceIo[] {
  const byDevice = new Map<string, { readBytes: number; writeBytes: number; reads: number; writes: number }>();
  const add = (text: string | null, read: 'readBytes' | 'reads', write: 'writeBytes' | 'writes'): void => {
    for (const line of (text ?? '').split('\n')) {
      const [device = '', operation, amount] = line.split(' ');
      if (operation !== 'Read' && operation !== 'Write') continue;
      const found = byDevice.get(device) ?? { readBytes: 0, writeBytes: 0, reads: 0, writes: 0 };
      found[operation === 'Read' ? read : write] = Number(amount) || 0;
      byDevice.set(device, found);
    }
  };
  add(bytes, 'readBytes', 'writeBytes');
  add(counts, 'reads', 'writes');
  return [...byDevice].map(([device, numbers]) => ({ device, ...numbers }));
}
