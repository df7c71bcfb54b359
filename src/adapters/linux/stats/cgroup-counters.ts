// What the kernel counts of one cgroup, in one form for cgroup v1 and v2 (see cgroup-v1/memory.rst and cgroup-v2.rst of the kernel).
// Invariant: a number that can't be read is null or 0 as said here; one broken file never costs what the others say.

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
  /** Of the cgroup alone; v2 doesn't tell it apart. */
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
  /** Processes in it, not in cgroups below it. null: can't be told. */
  readonly pids: readonly number[] | null;
  readonly threads: number;
  readonly oomKills: number;
  readonly io: readonly DeviceIo[];
  /** null: the kernel has no pressure information. */
  readonly pressure: { readonly cpu: Pressure; readonly memory: Pressure; readonly io: Pressure } | null;
}

/** The text of a file of the cgroup; null: there is none. */
export type FileText = (file: string) => string | null;

/** Files of v1, by controller; those with `true` are left out of the small set that the stats summary needs. */
export const filesV1: readonly (readonly [controller: string, file: string, detail: boolean])[] = [
  ['cpuacct', 'cpuacct.usage', false],
  ['memory', 'memory.usage_in_bytes', false],
  ['memory', 'memory.stat', false],
  ['memory', 'memory.limit_in_bytes', false],
  ['memory', 'memory.memsw.limit_in_bytes', false],
  ['cpu', 'cgroup.procs', false],
  ['cpuacct', 'cpuacct.stat', true],
  ['cpu', 'cpu.stat', true],
  ['cpu', 'cpu.shares', true],
  ['cpu', 'cpu.cfs_quota_us', true],
  ['cpu', 'cpu.cfs_period_us', true],
  ['memory', 'memory.max_usage_in_bytes', true],
  ['memory', 'memory.failcnt', true],
  ['memory', 'memory.soft_limit_in_bytes', true],
  ['memory', 'memory.kmem.usage_in_bytes', true],
  ['memory', 'memory.oom_control', true],
  ['pids', 'pids.current', true],
  ['pids', 'pids.max', true],
  ['blkio', 'blkio.throttle.io_service_bytes', true],
  ['blkio', 'blkio.throttle.io_serviced', true],
];

export const filesV2: readonly (readonly [file: string, detail: boolean])[] = [
  ['cpu.stat', false],
  ['memory.current', false],
  ['memory.stat', false],
  ['memory.max', false],
  ['memory.swap.current', false],
  ['memory.swap.max', false],
  ['cgroup.procs', false],
  ['cpu.pressure', false],
  ['memory.pressure', false],
  ['io.pressure', false],
  ['cpu.weight', true],
  ['cpu.max', true],
  ['memory.peak', true],
  ['memory.high', true],
  ['memory.events', true],
  ['pids.current', true],
  ['pids.max', true],
  ['io.stat', true],
];

const nanosPerMicro = 1000;
/** cpuacct.stat counts in ticks of a hundredth of a second (USER_HZ). */
const nanosPerTick = 10_000_000;

export function countersV1(text: FileText): CgroupCounters {
  const number = (file: string): number | null => numberOf(text(file));
  const usageNanos = number('cpuacct.usage');
  const ticks = keyed(text('cpuacct.stat'));
  const cpu = keyed(text('cpu.stat'));
  const quota = number('cpu.cfs_quota_us');
  return {
    cpu:
      usageNanos === null
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
    memory: memoryV1(text),
    limits: {
      cpuShares: number('cpu.shares') ?? 0,
      cpuQuotaMicros: quota === null || quota <= 0 ? null : quota,
      cpuPeriodMicros: number('cpu.cfs_period_us') ?? 0,
      memoryBytes: bigOf(text('memory.limit_in_bytes')),
      swapBytes: bigOf(text('memory.memsw.limit_in_bytes')),
      reservationBytes: bigOf(text('memory.soft_limit_in_bytes')),
      threads: number('pids.max') ?? 0,
    },
    pids: pidsOf(text('cgroup.procs')),
    threads: number('pids.current') ?? 0,
    oomKills: keyed(text('memory.oom_control'))('oom_kill'),
    io: throttledIo(text('blkio.throttle.io_service_bytes'), text('blkio.throttle.io_serviced')),
    pressure: null,
  };
}

function memoryV1(text: FileText): MemoryCounters | null {
  const usageBytes = numberOf(text('memory.usage_in_bytes'));
  if (usageBytes === null) return null;
  const stat = keyed(text('memory.stat'));
  return {
    usageBytes,
    maxUsageBytes: numberOf(text('memory.max_usage_in_bytes')) ?? 0,
    workingSetBytes: Math.max(0, usageBytes - stat('total_inactive_file')),
    rssBytes: stat('total_rss'),
    cacheBytes: stat('total_cache'),
    mappedFileBytes: stat('total_mapped_file'),
    kernelBytes: numberOf(text('memory.kmem.usage_in_bytes')) ?? 0,
    swapBytes: stat('total_swap'),
    activeFileBytes: stat('total_active_file'),
    inactiveFileBytes: stat('total_inactive_file'),
    failures: numberOf(text('memory.failcnt')) ?? 0,
    ownPageFaults: stat('pgfault'),
    ownMajorPageFaults: stat('pgmajfault'),
    pageFaults: stat('total_pgfault'),
    majorPageFaults: stat('total_pgmajfault'),
  };
}

export function countersV2(text: FileText): CgroupCounters {
  const number = (file: string): number | null => numberOf(text(file));
  const cpu = keyed(text('cpu.stat'));
  const [quota, period] = (text('cpu.max') ?? '').trim().split(' ');
  const weight = number('cpu.weight');
  return {
    cpu:
      text('cpu.stat') === null
        ? null
        : {
            usageNanos: cpu('usage_usec') * nanosPerMicro,
            userNanos: cpu('user_usec') * nanosPerMicro,
            systemNanos: cpu('system_usec') * nanosPerMicro,
            periods: cpu('nr_periods'),
            throttledPeriods: cpu('nr_throttled'),
            throttledNanos: cpu('throttled_usec') * nanosPerMicro,
            burstPeriods: cpu('nr_bursts'),
            burstNanos: cpu('burst_usec') * nanosPerMicro,
          },
    memory: memoryV2(text),
    limits: {
      // Weights 1 to 10000 stand for shares 2 to 262144.
      cpuShares: weight === null ? 0 : 2 + Math.floor(((weight - 1) * 262_142) / 9_999),
      cpuQuotaMicros: numberOf(quota ?? null),
      cpuPeriodMicros: numberOf(period ?? null) ?? 0,
      memoryBytes: bigOf(text('memory.max')),
      swapBytes: bigOf(text('memory.swap.max')),
      reservationBytes: bigOf(text('memory.high')),
      threads: number('pids.max') ?? 0,
    },
    pids: pidsOf(text('cgroup.procs')),
    threads: number('pids.current') ?? 0,
    oomKills: keyed(text('memory.events'))('oom_kill'),
    io: unifiedIo(text('io.stat')),
    pressure: pressureOf(text),
  };
}

function memoryV2(text: FileText): MemoryCounters | null {
  if (text('memory.stat') === null) return null;
  const stat = keyed(text('memory.stat'));
  // The root has no memory.current.
  const usageBytes = numberOf(text('memory.current')) ?? stat('anon') + stat('file');
  const inactiveFileBytes = stat('inactive_file');
  return {
    usageBytes,
    maxUsageBytes: numberOf(text('memory.peak')) ?? 0,
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: stat('anon'),
    cacheBytes: stat('file'),
    mappedFileBytes: stat('file_mapped'),
    kernelBytes: stat('kernel'),
    swapBytes: numberOf(text('memory.swap.current')) ?? 0,
    activeFileBytes: stat('active_file'),
    inactiveFileBytes,
    failures: keyed(text('memory.events'))('max'),
    ownPageFaults: stat('pgfault'),
    ownMajorPageFaults: stat('pgmajfault'),
    pageFaults: stat('pgfault'),
    majorPageFaults: stat('pgmajfault'),
  };
}

function pressureOf(text: FileText): CgroupCounters['pressure'] {
  const [cpu, memory, io] = [text('cpu.pressure'), text('memory.pressure'), text('io.pressure')];
  return cpu === null || memory === null || io === null ? null : { cpu: parsePressure(cpu), memory: parsePressure(memory), io: parsePressure(io) };
}

const noPressure: PressureLine = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and the same for `full`, which old kernels leave out for the CPU. */
export function parsePressure(text: string): Pressure {
  const line = (kind: string): PressureLine => {
    const found = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, 'm').exec(text);
    return found === null ? noPressure : { total: Number(found[4]), avg10: Number(found[1]), avg60: Number(found[2]), avg300: Number(found[3]) };
  };
  return { full: line('full'), some: line('some') };
}

/** Reads `key value` lines; a key that is not there is 0. */
function keyed(text: string | null): (key: string) => number {
  return (key) => {
    if (text === null) return 0;
    // Searched in the text as it is: to copy it, or to cut numbers out, costs more than all else here.
    let at = text.indexOf(key);
    while (at >= 0 && !((at === 0 || text.charCodeAt(at - 1) === lineBreak) && text.charCodeAt(at + key.length) === space)) at = text.indexOf(key, at + 1);
    return at < 0 ? 0 : leadingNumber(text, at + key.length + 1);
  };
}

const [lineBreak, space, zero, nine, minus] = ['\n', ' ', '0', '9', '-'].map((character) => character.charCodeAt(0)) as [number, number, number, number, number];

/** Digits of 64 bits, and a sign. */
const longestNumber = 21;

/** 0 where there is none. */
function leadingNumber(text: string, from: number): number {
  let value = 0;
  const negative = text.charCodeAt(from) === minus;
  for (let at = negative ? from + 1 : from; ; at++) {
    const digit = text.charCodeAt(at);
    // Beyond the end it is not a number, which is no digit either.
    if (!(digit >= zero && digit <= nine)) break;
    value = value * 10 + (digit - zero);
  }
  // Beyond what is exact, rounded once and not at each digit.
  if (value > Number.MAX_SAFE_INTEGER) return Number.parseInt(text.slice(from, from + longestNumber), 10);
  return negative && value !== 0 ? -value : value;
}

/** null for `max`, an empty or a missing file, and anything else that is no number. */
function numberOf(text: string | null): number | null {
  if (text === null) return null;
  // Nearly all are digits and a line break.
  let value = 0;
  const end = text.length - 1;
  for (let at = 0; at < end; at++) {
    const digit = text.charCodeAt(at);
    if (!(digit >= zero && digit <= nine)) return unusualNumber(text);
    value = value * 10 + (digit - zero);
  }
  return end > 0 && end < exactDigits && text.charCodeAt(end) === lineBreak ? value : unusualNumber(text);
}

/** Numbers of fewer digits are exact. */
const exactDigits = 16;

function unusualNumber(text: string): number | null {
  const trimmed = text.trim();
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : null;
}

function bigOf(text: string | null): bigint | null {
  const trimmed = text?.trim() ?? '';
  return /^\d+$/.test(trimmed) ? BigInt(trimmed) : null;
}

function pidsOf(text: string | null): readonly number[] | null {
  return text === null ? null : text.split('\n').flatMap((line) => (line === '' ? [] : [Number(line)]));
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
