// Validation of the node's settings: taints, enforcement of reservations, reserved CPUs and memory, user namespaces, cgroups.
// Invariant: messages are in the order of their settings.

import { parseCpuSet } from '../values/cpu-set.js';
import { labelValueProblems, qualifiedNameProblems } from '../values/dns-names.js';
import { goQuote } from '../values/go-text.js';
import { isZeroQuantity, mustParseQuantity } from '../values/quantity.js';
import { describeTaint, isMemoryType, taintEffects } from './record-flags.js';
import type { RegisteredTaint } from './record-kinds.js';
import type { KubeletConfiguration } from './schema.js';

/** With their own prefixes: not all are called invalid configuration. */
export function taintProblems(c: KubeletConfiguration): string[] {
  return c.registerWithTaints.flatMap((taint) => [
    ...(isGoodTaint(taint) ? [] : [`invalid taint: ${describeTaint(taint)}`]),
    ...(taint.timeAdded === null ? [] : ['invalid configuration: taint.TimeAdded is not nil']),
  ]);
}

function isGoodTaint({ key, value, effect }: RegisteredTaint): boolean {
  return qualifiedNameProblems(key).length === 0 && labelValueProblems(value).length === 0 && taintEffects.includes(effect);
}

const enforceLabel = 'enforceNodeAllocatable (--enforce-node-allocatable)';
const enforcements: readonly string[] = ['pods', 'system-reserved', 'system-reserved-compressible', 'kube-reserved', 'kube-reserved-compressible'];

export function enforcementProblems(c: KubeletConfiguration): string[] {
  const wanted = c.enforceNodeAllocatable;
  const problems: string[] = [];
  for (const kind of ['system-reserved', 'kube-reserved']) {
    if (wanted.includes(kind) && wanted.includes(`${kind}-compressible`))
      problems.push(`both "${kind}" and "${kind}-compressible" cannot be specified together in ${enforceLabel}`);
  }
  for (const [i, name] of wanted.entries()) {
    if (wanted.indexOf(name) < i) problems.push(`duplicated enforcements ${goQuote(name)} in ${enforceLabel}`);
    else problems.push(...enforcementProblemsOf(name, c));
  }
  return problems;
}

function enforcementProblemsOf(name: string, c: KubeletConfiguration): string[] {
  if (name === 'none') return c.enforceNodeAllocatable.length > 1 ? [`${enforceLabel} may not contain additional enforcements when "none" is specified`] : [];
  if (!enforcements.includes(name)) return [`option ${goQuote(name)} specified for ${enforceLabel}. Valid options are ${enforcements.map(goQuote).join(', ')} or "none"`];
  const problems: string[] = [];
  if (name.startsWith('system-reserved') && c.systemReservedCgroup === '') problems.push(missingCgroup('system', 'systemReservedCgroup'));
  if (name.startsWith('kube-reserved') && c.kubeReservedCgroup === '') problems.push(missingCgroup('kube', 'kubeReservedCgroup'));
  if (!c.cgroupsPerQOS) problems.push(`cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${goQuote(name)} contained in ${enforceLabel}`);
  return problems;
}

function missingCgroup(kind: string, field: string): string {
  return `${field} (--${kind}-reserved-cgroup) must be specified when "${kind}-reserved" or "${kind}-reserved-compressible" included in ${enforceLabel}`;
}

export function reservationProblems(c: KubeletConfiguration): string[] {
  const problems: string[] = [];
  if (c.reservedSystemCPUs !== '') {
    const label = 'reservedSystemCPUs (--reserved-cpus)';
    const cgroups = 'systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)';
    if (c.systemReservedCgroup !== '' || c.kubeReservedCgroup !== '') problems.push(`can't use ${label} with ${cgroups}`);
    const parsed = parseCpuSet(c.reservedSystemCPUs);
    if (!parsed.ok) problems.push(`unable to parse ${label} ${c.reservedSystemCPUs}, error: ${parsed.error}`);
  }
  return [...problems, ...reservedMemoryProblems(c)];
}

function reservedMemoryProblems(c: KubeletConfiguration): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { numaNode, limits } of c.reservedMemory) {
    for (const [type, amount] of Object.entries(limits)) {
      if (!isMemoryType(type)) problems.push(`the limit type ${goQuote(type)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`);
      if (isZeroQuantity(mustParseQuantity(amount))) problems.push(`reserved memory may not be zero for NUMA node ${numaNode} and resource ${goQuote(type)}`);
      const key = `${numaNode} ${type}`;
      if (seen.has(key)) problems.push(`the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${goQuote(type)}`);
      seen.add(key);
    }
  }
  return problems;
}

/** User ids are allocated in blocks of this size. */
const idBlock = 65_536;
const maxIds = 2 ** 32 - 1;

/** What depends on the host; at most one message, with its own beginning. */
export function userNamespaceProblems(c: KubeletConfiguration, cgroupVersion: 1 | 2): string[] {
  if (cgroupVersion === 1 && c.failCgroupV1) {
    return ['kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release'];
  }
  if (cgroupVersion === 1 && c.singleProcessOOMKill === false) return ['invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1'];
  const ids = c.userNamespaces?.idsPerPod ?? null;
  if (ids === null) return [];
  const label = 'invalid configuration: userNamespaces.idsPerPod must';
  if (ids < idBlock) return [`${label} not be less than ${idBlock}`];
  if (ids % idBlock !== 0) return [`${label} be a multiple of ${idBlock}`];
  return ids > maxIds ? [`${label} not be more than ${maxIds}`] : [];
}
