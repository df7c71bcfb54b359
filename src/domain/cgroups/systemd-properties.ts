// A cgroup's configuration as the properties of its systemd slice. systemd writes the same files as the kubelet and rewrites them
// when it reloads, so both must agree.
// Invariant: systemd gets a quota in whole percents of a CPU; the kubelet's own writes are rounded up in the same way.
import { parseCpuSet } from '../values/cpu-set.js';
import type { CgroupConfig } from './cgroup-config.js';
import { defaultCpuPeriodMicros, sharesToPodWeight } from './cpu-conversions.js';
import type { CgroupVersion } from './resource-facts.js';

export interface SystemdProperty {
  readonly name: string;
  /** An unsigned 64-bit number, or a bitmap as bytes. */
  readonly value: bigint | Uint8Array;
}

export interface SliceSettings {
  readonly properties: readonly SystemdProperty[];
  /** What to write to the files afterwards. */
  readonly config: CgroupConfig;
}

/** systemd's infinity: no limit. */
const unlimited = 2n ** 64n - 1n;
/** systemd keeps quotas as percents: a hundredth of a second of CPU time each second. */
const quotaStepMicros = 10_000;
const periodSince = 242;
const allowedCpusSince = 244;

/** Files of cgroup v2 that are also properties. */
const unifiedProperties: Readonly<Record<string, string>> = {
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
  'memory.swap.max': 'MemorySwapMax',
};

/** Huge page limits are no properties; they are written to files alone. @param systemdVersion e.g. 252 */
export function sliceSettings(config: CgroupConfig, version: CgroupVersion, systemdVersion: number): SliceSettings {
  const quota = quotaProperties(config, systemdVersion);
  const properties = [
    ...number(version === 1 ? 'MemoryLimit' : 'MemoryMax', config.memoryBytes === 0n ? null : config.memoryBytes),
    ...cpuShareProperty(config, version),
    ...quota.properties,
    ...number('TasksMax', config.pidsLimit === null ? null : BigInt(config.pidsLimit === 0 ? 1 : config.pidsLimit)),
    ...allowedCpus(config, systemdVersion),
    ...(version === 1 ? [] : Object.entries(config.unified).flatMap(([file, text]) => unifiedProperty(file, text))),
  ];
  return { properties, config: { ...config, cpuQuotaMicros: quota.quotaMicros } };
}

/** A negative number lifts the limit. */
function number(name: string, value: bigint | null): readonly SystemdProperty[] {
  return value === null ? [] : [{ name, value: value < 0n ? unlimited : value }];
}

function cpuShareProperty({ cpuShares }: CgroupConfig, version: CgroupVersion): readonly SystemdProperty[] {
  if (cpuShares === null || cpuShares === 0) return [];
  return version === 1 ? number('CPUShares', BigInt(cpuShares)) : number('CPUWeight', BigInt(sharesToPodWeight(cpuShares)));
}

function quotaProperties(
  { cpuQuotaMicros, cpuPeriodMicros }: CgroupConfig,
  systemdVersion: number,
): { readonly properties: readonly SystemdProperty[]; readonly quotaMicros: number | null } {
  const quota = cpuQuotaMicros ?? 0;
  const period = cpuPeriodMicros ?? 0;
  if (quota === 0 && period === 0) return { properties: [], quotaMicros: cpuQuotaMicros };
  const periodProperty = period !== 0 && systemdVersion >= periodSince ? number('CPUQuotaPeriodUSec', BigInt(period)) : [];
  if (quota <= 0) return { properties: [...periodProperty, ...number('CPUQuotaPerSecUSec', -1n)], quotaMicros: cpuQuotaMicros };
  const effectivePeriod = period === 0 ? defaultCpuPeriodMicros : period;
  const exact = Math.floor((quota * 1_000_000) / effectivePeriod);
  const perSecond = Math.ceil(exact / quotaStepMicros) * quotaStepMicros;
  return {
    properties: [...periodProperty, ...number('CPUQuotaPerSecUSec', BigInt(perSecond))],
    quotaMicros: perSecond === exact ? quota : Math.floor((perSecond * effectivePeriod) / 1_000_000),
  };
}

/** One bit a CPU, the lowest first. */
function allowedCpus({ cpusetCpus }: CgroupConfig, systemdVersion: number): readonly SystemdProperty[] {
  const cpus = parseCpuSet(cpusetCpus ?? '');
  if (!cpus.ok || cpus.value.length === 0 || systemdVersion < allowedCpusSince) return [];
  const bitmap = new Uint8Array(Math.floor(Math.max(...cpus.value) / 8) + 1);
  for (const cpu of cpus.value) bitmap[Math.floor(cpu / 8)]! |= 1 << (cpu % 8);
  return [{ name: 'AllowedCPUs', value: bitmap }];
}

function unifiedProperty(file: string, text: string): readonly SystemdProperty[] {
  const name = unifiedProperties[file];
  if (name === undefined) return [];
  return /^[0-9]+$/.test(text) ? number(name, BigInt(text)) : text === 'max' ? number(name, -1n) : [];
}
