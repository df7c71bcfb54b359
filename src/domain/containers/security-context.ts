// The identity and the restrictions of a container.
// Invariant: the container's own settings override the pod's; a container with runAsNonRoot is refused unless its user is certain not to be root.
import type { Container, SecurityContext } from '../../ports/model/container.js';
import type { LinuxContainerSecurityContext } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import type { NamespaceOptions } from '../../ports/model/sandbox-config.js';
import { goQuote } from '../values/go-text.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { joinPath } from '../values/slash-paths.js';
import type { Resolved } from './namespaces.js';
import type { NodeFacts } from './node-facts.js';
import { apparmorProfile, seccompProfile } from './security-profiles.js';
import { containerGroups, supplementalGroupsPolicy } from './supplemental-groups.js';

/** Kernel interfaces that expose, or reach, more than the container. */
const maskedPaths: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths: readonly string[] = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const maxUserId = 2_147_483_647;

/** The image's default user: a number, or a name that only the runtime can look up; neither is root. */
export interface ImageUser {
  readonly uid: number | null;
  readonly username: string;
}

export function containerSecurityContext(
  pod: Pod,
  container: Container,
  imageUser: ImageUser,
  namespaces: Resolved<NamespaceOptions>,
  volumeGroups: readonly number[],
  node: NodeFacts,
): Resolved<LinuxContainerSecurityContext> {
  const context = effectiveContext(pod, container);
  const seccomp = seccompProfile(pod, container, node.seccompDefault, joinPath(node.rootDirectory, 'seccomp'));
  if (!seccomp.ok) return seccomp;
  const apparmor = apparmorProfile(pod, container);
  if (!apparmor.ok) return apparmor;
  if (!namespaces.ok) return namespaces;
  const policy = supplementalGroupsPolicy(pod.spec.securityContext);
  if (!policy.ok) return policy;
  const unmasked = context.procMount === 'Unmasked';
  const { capabilities } = context;
  return {
    ok: true,
    value: {
      ...(capabilities === undefined ? {} : { capabilities: { addCapabilities: capabilities.add ?? [], dropCapabilities: capabilities.drop ?? [] } }),
      privileged: context.privileged === true,
      namespaceOptions: namespaces.value,
      ...(context.seLinuxOptions === undefined ? {} : { selinuxOptions: context.seLinuxOptions }),
      ...userOf(context, imageUser),
      ...(context.runAsGroup === undefined ? {} : { runAsGroup: context.runAsGroup }),
      readonlyRootfs: context.readOnlyRootFilesystem === true,
      supplementalGroups: containerGroups(pod.spec.securityContext, volumeGroups),
      ...(policy.value === null ? {} : { supplementalGroupsPolicy: policy.value }),
      noNewPrivs: context.allowPrivilegeEscalation === false,
      maskedPaths: unmasked ? [] : [...maskedPaths, ...node.thermalThrottlePaths],
      readonlyPaths: unmasked ? [] : readonlyPaths,
      seccomp: seccomp.value,
      ...(apparmor.value === null ? {} : { apparmor: apparmor.value }),
    },
  };
}

/** Why the container would break its own `runAsNonRoot`; null when it wouldn't, or has none. */
export function nonRootProblem(pod: Pod, container: Container, imageUser: ImageUser): string | null {
  const context = effectiveContext(pod, container);
  if (context.runAsNonRoot !== true) return null;
  const where = `(pod: ${goQuote(podReferenceTextOf(pod))}, container: ${container.name})`;
  if (context.runAsUser !== undefined) return context.runAsUser === 0 ? `container's runAsUser breaks non-root policy ${where}` : null;
  const { uid, username } = imageUser;
  if (uid === null && username !== '') return `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root ${where}`;
  if (uid === null || uid === 0) return `container has runAsNonRoot and image will run as root ${where}`;
  if (uid < 0 || uid > maxUserId) {
    const range = `must be between 0 and ${maxUserId}, inclusive`;
    return `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${maxUserId})): ${range} ${where}`;
  }
  return null;
}

/** Identity defaults to the pod's; everything else is the container's alone. */
function effectiveContext(pod: Pod, container: Container): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  return {
    ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }),
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...(runAsNonRoot === undefined ? {} : { runAsNonRoot }),
    ...container.securityContext,
  };
}

function userOf(context: SecurityContext, image: ImageUser): Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsUsername'> {
  if (context.runAsUser !== undefined) return { runAsUser: context.runAsUser };
  if (image.uid !== null) return { runAsUser: image.uid };
  return image.username === '' ? { runAsUser: 0 } : { runAsUsername: image.username };
}
