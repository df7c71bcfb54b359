// Which kernel parameters a pod may set: those that are safe, and those that the node's owner allows.
// Invariant: only parameters that belong to a namespace of the pod; with the host's namespace they would be the host's.
import type { Pod } from '../../ports/model/pod.js';
import { normalSysctlName } from '../containers/sysctl-name.js';
import { type GoParse, goQuote } from '../values/go-text.js';
import { type Admission, admitted, rejected } from './admission-result.js';

type SysctlNamespace = 'IPC' | 'Net';

export interface SysctlAllowlist {
  readonly exact: ReadonlyMap<string, SysctlNamespace>;
  readonly prefixes: ReadonlyMap<string, SysctlNamespace>;
}

const maxLength = 253;
const patternFormat = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]';
const pattern = new RegExp(`^${patternFormat}$`);

const namespacedPrefixes: readonly (readonly [prefix: string, namespace: SysctlNamespace])[] = [
  ['kernel.shm', 'IPC'],
  ['kernel.msg', 'IPC'],
  ['fs.mqueue.', 'IPC'],
  ['net.', 'Net'],
];

type KernelVersion = readonly [major: number, minor: number];

/** Safe parameters, with the kernel that made them belong to a namespace; null: every kernel that is supported. */
const safeSysctls: readonly (readonly [name: string, since: KernelVersion | null])[] = [
  ['kernel.shm_rmid_forced', null],
  ['net.ipv4.ip_local_port_range', null],
  ['net.ipv4.tcp_syncookies', null],
  ['net.ipv4.ping_group_range', null],
  ['net.ipv4.ip_unprivileged_port_start', null],
  ['net.ipv4.ip_local_reserved_ports', [3, 16]],
  ['net.ipv4.tcp_keepalive_time', [4, 5]],
  ['net.ipv4.tcp_fin_timeout', [4, 6]],
  ['net.ipv4.tcp_keepalive_intvl', [4, 5]],
  ['net.ipv4.tcp_keepalive_probes', [4, 5]],
  ['net.ipv4.tcp_rmem', [4, 15]],
  ['net.ipv4.tcp_wmem', [4, 15]],
];

/** @param kernelRelease as uname reports it, e.g. `6.1.90-cos`; if unreadable, only sysctls that are safe on every kernel remain */
export function safeSysctlNames(kernelRelease: string): readonly string[] {
  const version = /^(\d+)\.(\d+)/.exec(kernelRelease);
  return safeSysctls.flatMap(([name, since]) => (since === null || (version !== null && isAtLeast([Number(version[1]), Number(version[2])], since)) ? [name] : []));
}

function isAtLeast([major, minor]: KernelVersion, [wantedMajor, wantedMinor]: KernelVersion): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Reads names and prefixes (`net.core.*`). An error ends the start of the agent. */
export function parseSysctlAllowlist(patterns: readonly string[]): GoParse<SysctlAllowlist> {
  const exact = new Map<string, SysctlNamespace>();
  const prefixes = new Map<string, SysctlNamespace>();
  for (const text of patterns) {
    if (text.length > maxLength || !pattern.test(text))
      return { ok: false, error: `sysctl ${goQuote(text)} must have at most ${maxLength} characters and match regex ${patternFormat}` };
    const name = normalSysctlName(text);
    const stem = name.endsWith('*') ? name.slice(0, -1) : name;
    const namespace = namespaceOf(stem);
    if (namespace === null) return { ok: false, error: `the sysctls ${goQuote(stem)} are not known to be namespaced` };
    (name.endsWith('*') ? prefixes : exact).set(stem, namespace);
  }
  return { ok: true, value: { exact, prefixes } };
}

function namespaceOf(name: string): SysctlNamespace | null {
  if (name === 'kernel.sem') return 'IPC';
  return namespacedPrefixes.find(([prefix]) => name.startsWith(prefix))?.[1] ?? null;
}

export function admitSysctls(pod: Pod, allowlist: SysctlAllowlist): Admission {
  for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
    const problem = sysctlProblem(pod, normalSysctlName(name), allowlist);
    if (problem !== null) return rejected('SysctlForbidden', `forbidden sysctl: ${problem}`);
  }
  return admitted;
}

function sysctlProblem(pod: Pod, name: string, { exact, prefixes }: SysctlAllowlist): string | null {
  const namespace = exact.get(name) ?? [...prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
  if (namespace === undefined) return `${goQuote(name)} not allowlisted`;
  const isHosts = namespace === 'IPC' ? pod.spec.hostIPC === true : pod.spec.hostNetwork === true;
  return isHosts ? `${goQuote(name)} not allowed with host ${namespace} enabled` : null;
}
