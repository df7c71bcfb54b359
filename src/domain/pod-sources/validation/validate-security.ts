// Create validation of security contexts, of the pod and of containers.
import type { SeccompProfile, SecurityContext } from '../../../ports/model/container.js';
import type { PodSecurityContext, PodSpec } from '../../../ports/model/pod.js';
import { duplicate, forbidden, invalid, notSupported, oneOf, type Problems, required } from './field-problem.js';
import { validateAppArmorProfile } from './validate-apparmor.js';

const maxId = 2 ** 31 - 1;
const idRange = `must be between 0 and ${maxId}, inclusive`;
const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const ipcSysctl = /^(kernel\.shm|kernel\.msg|kernel\.sem$|fs\.mqueue\.)/;

function validateId(problems: Problems, field: string, id: number | undefined): void {
  if (id !== undefined && (id < 0 || id > maxId)) invalid(problems, field, id, idRange);
}

/** A path below the kubelet's profile directory: relative, and staying there. */
function validateSeccompProfile(problems: Problems, field: string, profile: SeccompProfile): void {
  oneOf(problems, `${field}.type`, profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined']);
  const path = profile.localhostProfile;
  const at = `${field}.localhostProfile`;
  if (profile.type !== 'Localhost') {
    if (path !== undefined) invalid(problems, at, path, 'can only be set when seccomp type is Localhost');
    return;
  }
  if (path === undefined || path === '') required(problems, at, 'must be set when seccomp type is Localhost');
  else if (path.startsWith('/') || path.split('/').includes('..')) invalid(problems, at, path, "must be a relative path without '..'");
}

export function validatePodSecurity(problems: Problems, spec: PodSpec): void {
  const field = 'spec.securityContext';
  const context: PodSecurityContext = spec.securityContext ?? {};
  validateId(problems, `${field}.fsGroup`, context.fsGroup);
  validateId(problems, `${field}.runAsUser`, context.runAsUser);
  validateId(problems, `${field}.runAsGroup`, context.runAsGroup);
  for (const [i, group] of (context.supplementalGroups ?? []).entries()) validateId(problems, `${field}.supplementalGroups[${i}]`, group);
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    invalid(problems, `${field}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  validateSysctls(problems, `${field}.sysctls`, spec);
  for (const [name, supported] of enumerations) {
    const value = context[name];
    if (value !== undefined && !supported.includes(value)) notSupported(problems, `${field}.${name}`, value, supported);
  }
  if (context.seccompProfile !== undefined) validateSeccompProfile(problems, `${field}.seccompProfile`, context.seccompProfile);
  if (context.appArmorProfile !== undefined) validateAppArmorProfile(problems, `${field}.appArmorProfile`, context.appArmorProfile);
  if (spec.hostUsers !== false) return;
  if (spec.hostPID === true) forbidden(problems, 'spec.hostPID', 'when hostUsers is false');
  if (spec.hostIPC === true) forbidden(problems, 'spec.hostIPC', 'when hostUsers is false');
  if (spec.hostNetwork === true) forbidden(problems, 'spec.hostNetwork', 'when hostUsers is false');
}

const enumerations: readonly (readonly ['fsGroupChangePolicy' | 'supplementalGroupsPolicy' | 'seLinuxChangePolicy', readonly string[]])[] = [
  ['fsGroupChangePolicy', ['Always', 'OnRootMismatch']],
  ['supplementalGroupsPolicy', ['Merge', 'Strict']],
  ['seLinuxChangePolicy', ['MountOption', 'Recursive']],
];

function validateSysctls(problems: Problems, field: string, spec: PodSpec): void {
  const seen = new Set<string>();
  for (const [i, sysctl] of (spec.securityContext?.sysctls ?? []).entries()) {
    const at = `${field}[${i}].name`;
    const name = sysctl.name ?? '';
    if (name === '') required(problems, at);
    else if (name.length > 253 || !sysctlName.test(name)) invalid(problems, at, name, 'must have at most 253 characters and match the name of a sysctl, like net.ipv4.ip_forward');
    if (seen.has(name)) duplicate(problems, at, name);
    seen.add(name);
    const dotted = name.replaceAll('/', '.');
    if (spec.hostNetwork === true && dotted.startsWith('net.')) invalid(problems, at, name, "may not be specified when 'hostNetwork' is true");
    if (spec.hostIPC === true && ipcSysctl.test(dotted)) invalid(problems, at, name, "may not be specified when 'hostIPC' is true");
  }
}

/** `hostUsers` is the pod's: a container may see an unmasked /proc only inside a user namespace. */
export function validateContainerSecurity(problems: Problems, field: string, context: SecurityContext, hostUsers: boolean): void {
  validateId(problems, `${field}.runAsUser`, context.runAsUser);
  validateId(problems, `${field}.runAsGroup`, context.runAsGroup);
  if (context.procMount !== undefined) {
    if (!['Default', 'Unmasked'].includes(context.procMount)) notSupported(problems, `${field}.procMount`, context.procMount, ['Default', 'Unmasked']);
    else if (context.procMount === 'Unmasked' && hostUsers) invalid(problems, `${field}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  if (context.seccompProfile !== undefined) validateSeccompProfile(problems, `${field}.seccompProfile`, context.seccompProfile);
  if (context.appArmorProfile !== undefined) validateAppArmorProfile(problems, `${field}.appArmorProfile`, context.appArmorProfile);
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged === true) invalid(problems, field, 'privileged', 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  if ((context.capabilities?.add ?? []).includes('CAP_SYS_ADMIN')) {
    invalid(problems, field, 'CAP_SYS_ADMIN', 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN');
  }
}
