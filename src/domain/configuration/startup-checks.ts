// Checks between validation and the first step of the agent: reservations, reserved CPUs, hard eviction thresholds, TLS, the lock.
// Invariant: pure; the answer is the input of the container manager.
import type { EvictionSignal } from '../eviction/signals.js';
import type { ThresholdValue } from '../eviction/threshold-text.js';
import { parseThresholdValues } from '../eviction/thresholds.js';
import { type CpuSet, formatCpuSet, isCpuSubset, parseCpuSet } from '../values/cpu-set.js';
import { type GoParse, goQuote, goTrimRight, parseGoInt } from '../values/go-text.js';
import { parseQuantity, type Quantity, quantitySign } from '../values/quantity.js';
import type { ProcessOptions } from './apply-flags.js';
import type { KubeletConfiguration } from './schema.js';
import { type TlsOptions, tlsOptions } from './tls-options.js';

/** Reserved amounts by resource; null when nothing is reserved. */
export type Reservation = Readonly<Record<string, Quantity>> | null;

export interface NodeReservations {
  readonly reservedSystemCpus: CpuSet;
  readonly kubeReserved: Reservation;
  readonly systemReserved: Reservation;
  /** By signal; omits disabled thresholds. */
  readonly hardEviction: ReadonlyMap<EvictionSignal, ThresholdValue>;
}

export interface StartupValues extends NodeReservations {
  readonly tls: TlsOptions;
  /** Percentages by resource. */
  readonly qosReserved: Readonly<Record<string, number>>;
}

export type StartupResult = { readonly ok: true; readonly values: StartupValues } | { readonly ok: false; readonly error: string };

/** Checks on a machine with these CPUs online. The errors are whole, as the process ends with them. */
export function checkStartup(configuration: KubeletConfiguration, options: ProcessOptions, onlineCpus: CpuSet): StartupResult {
  const tls = tlsOptions(configuration);
  if (!tls.ok) return { ok: false, error: `failed to construct kubelet dependencies: ${tls.error}` };
  const refuse = (error: string): StartupResult => ({ ok: false, error: `failed to run Kubelet: ${error}` });
  if (options.exitOnLockContention && options.lockFile === '') return refuse('cannot exit on lock file contention: no lock file specified');
  const reserved = checkReservations(configuration, options.experimentalAllocatableIgnoreEviction, onlineCpus);
  if (!reserved.ok) return refuse(reserved.error);
  const qosReserved = parseQosReserved(configuration.qosReserved);
  if (!qosReserved.ok) return refuse(`--qos-reserved value failed to parse: ${qosReserved.error}`);
  const policy = unknownPolicy(configuration);
  if (policy !== null) return refuse(`unknown policy: ${goQuote(policy)}`);
  return { ok: true, values: { tls: tls.value, ...reserved.value, qosReserved: qosReserved.value } };
}

/** The first unknown policy of a resource manager; the topology manager's is validated before. */
function unknownPolicy({ cpuManagerPolicy, memoryManagerPolicy }: KubeletConfiguration): string | null {
  if (!['none', 'static'].includes(cpuManagerPolicy)) return cpuManagerPolicy;
  return ['None', 'Static'].includes(memoryManagerPolicy) ? null : memoryManagerPolicy;
}

/** The node's reservations. @param ignoresEviction whether eviction thresholds don't reduce the allocatable resources */
export function checkReservations(
  configuration: Pick<KubeletConfiguration, 'reservedSystemCPUs' | 'kubeReserved' | 'systemReserved' | 'evictionHard'>,
  ignoresEviction: boolean,
  onlineCpus: CpuSet,
): GoParse<NodeReservations> {
  const cpus = reservedCpus(configuration.reservedSystemCPUs, onlineCpus);
  if (!cpus.ok) return cpus;
  const wanted = reservationsWithCpus(configuration, cpus.value);
  const kubeReserved = parseReservation(wanted.kubeReserved);
  if (!kubeReserved.ok) return { ok: false, error: `--kube-reserved value failed to parse: ${kubeReserved.error}` };
  const systemReserved = parseReservation(wanted.systemReserved);
  if (!systemReserved.ok) return { ok: false, error: `--system-reserved value failed to parse: ${systemReserved.error}` };
  const hardEviction = parseThresholdValues(ignoresEviction ? {} : configuration.evictionHard);
  if (!hardEviction.ok) {
    const isNamed = Object.keys(configuration.evictionHard).some((signal) => hardEviction.error.includes(signal));
    return isNamed ? hardEviction : { ok: false, error: `--eviction-hard value failed to parse: ${hardEviction.error}` };
  }
  const values = { reservedSystemCpus: cpus.value, kubeReserved: kubeReserved.value, systemReserved: systemReserved.value };
  return { ok: true, value: { ...values, hardEviction: hardEviction.value } };
}

function reservedCpus(text: string, online: CpuSet): GoParse<CpuSet> {
  const parsed = parseCpuSet(text);
  if (!parsed.ok) return { ok: false, error: `unable to parse reserved-cpus list: ${parsed.error}` };
  if (!isCpuSubset(parsed.value, online)) return { ok: false, error: `reserved-cpus: ${text} is not a subset of online-cpus: ${formatCpuSet(online)}` };
  return parsed;
}

/** Whole reserved CPUs replace the cpu amounts of both reservations. */
export function reservationsWithCpus(
  { kubeReserved, systemReserved }: Pick<KubeletConfiguration, 'kubeReserved' | 'systemReserved'>,
  cpus: CpuSet,
): Pick<KubeletConfiguration, 'kubeReserved' | 'systemReserved'> {
  if (cpus.length === 0) return { kubeReserved, systemReserved };
  const { cpu: _replaced, ...others } = kubeReserved;
  return { kubeReserved: others, systemReserved: { ...systemReserved, cpu: String(cpus.length) } };
}

const reservable: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** Reads one reservation, e.g. `{ cpu: '500m', memory: '1Gi' }`. */
export function parseReservation(amounts: Readonly<Record<string, string>>): GoParse<Reservation> {
  const entries: [string, Quantity][] = [];
  for (const resource of Object.keys(amounts).sort()) {
    const text = amounts[resource] as string;
    if (!reservable.includes(resource)) return { ok: false, error: `cannot reserve ${goQuote(resource)} resource` };
    const parsed = parseQuantity(text);
    if (!parsed.ok) return { ok: false, error: `failed to parse quantity ${goQuote(text)} for ${goQuote(resource)} resource: ${parsed.error}` };
    if (quantitySign(parsed.quantity) < 0) return { ok: false, error: `resource quantity for ${goQuote(resource)} cannot be negative: ${text}` };
    entries.push([resource, parsed.quantity]);
  }
  return { ok: true, value: entries.length === 0 ? null : Object.fromEntries(entries) };
}

/** Percentages that QoS classes leave to higher ones; memory only. */
export function parseQosReserved(shares: Readonly<Record<string, string>>): GoParse<Readonly<Record<string, number>>> {
  const values: [string, number][] = [];
  for (const resource of Object.keys(shares).sort()) {
    const text = shares[resource] as string;
    if (resource !== 'memory') return { ok: false, error: `cannot reserve ${goQuote(resource)} resource` };
    const parsed = parsePercent(text);
    if (!parsed.ok) return { ok: false, error: `failed to parse percentage ${goQuote(text)} for ${goQuote(resource)} resource: ${parsed.error}` };
    values.push([resource, parsed.value]);
  }
  return { ok: true, value: Object.fromEntries(values) };
}

function parsePercent(text: string): GoParse<number> {
  if (!text.endsWith('%')) return { ok: false, error: `percentage expected, got '${text}'` };
  const parsed = parseGoInt(goTrimRight(text, '%'), 10, 64);
  if (!parsed.ok) return { ok: false, error: 'failed to convert number in percentage string' };
  if (parsed.value < 0n || parsed.value > 100n) return { ok: false, error: 'percentage must be between 0 and 100' };
  return { ok: true, value: Number(parsed.value) };
}
