// The configuration of a pod's sandbox for the runtime: RunPodSandbox's configuration and runtime handler.
// Invariant: the same pod, attempt and node facts give the same configuration; the sandbox's own seccomp profile is always RuntimeDefault.
import type { Pod, PodSecurityContext } from '../../ports/model/pod.js';
import type { LinuxSandboxSecurityContext, SandboxConfig } from '../../ports/model/sandbox-config.js';
import { cgroupPath } from '../cgroups/cgroup-name.js';
import { linuxSandboxOverhead, linuxSandboxResources } from '../cgroups/linux-container-resources.js';
import { podCgroupName } from '../cgroups/pod-cgroup-name.js';
import { type DnsEvent, podDns } from '../dns/pod-dns.js';
import { podQosClass } from '../qos/qos-class.js';
import { containerLabels } from '../values/container-labels.js';
import { podLogDirectory } from '../values/log-paths.js';
import { namespaceOptions, type Resolved, runtimeHandlerOf, type UserNamespaceMapping } from './namespaces.js';
import type { NodeFacts } from './node-facts.js';
import { kernelHostname, podHostname } from './pod-hostname.js';
import { portMappings } from './port-mappings.js';
import { sandboxGroups, supplementalGroupsPolicy } from './supplemental-groups.js';
import { normalSysctlName } from './sysctl-name.js';

/** Facts about the pod from other parts of the agent. */
export interface PodInputs {
  /** The pod's cgroup where it isn't the one that follows from its class and uid. */
  readonly cgroupParent?: string;
  readonly userNamespaceMapping?: UserNamespaceMapping;
  /** Groups that own the pod's volumes. */
  readonly volumeSupplementalGroups?: readonly number[];
  /** Whether a container of the pod has CPUs of its own. */
  readonly exclusiveCpus?: boolean;
}

export interface ConfiguredSandbox {
  readonly config: SandboxConfig;
  /** `''` is the runtime's default. */
  readonly runtimeHandler: string;
  /** Events about the pod's DNS. */
  readonly events: readonly DnsEvent[];
}

export function sandboxConfig(pod: Pod, attempt: number, node: NodeFacts, inputs: PodInputs = {}): Resolved<ConfiguredSandbox> {
  const { name, namespace = '', uid = '' } = pod.metadata;
  const dns = podDns(pod, node);
  if (!dns.ok) return dns;
  const hostname = sandboxHostname(pod, node.clusterDomain);
  if (!hostname.ok) return hostname;
  const handler = runtimeHandlerOf(pod, node.runtimeClasses);
  if (!handler.ok) return handler;
  const security = securityContext(pod, handler.value, node, inputs);
  if (!security.ok) return security;
  const config: SandboxConfig = {
    metadata: { name, namespace, uid, attempt },
    ...(hostname.value === '' ? {} : { hostname: hostname.value }),
    logDirectory: podLogDirectory(node.podLogsDirectory, namespace, name, uid),
    dnsConfig: dns.config,
    portMappings: portMappings(pod),
    labels: { ...pod.metadata.labels, ...podLabels(pod) },
    annotations: pod.metadata.annotations ?? {},
    linux: {
      cgroupParent: inputs.cgroupParent ?? podCgroupParent(pod, node),
      sysctls: Object.fromEntries((pod.spec.securityContext?.sysctls ?? []).map((sysctl) => [normalSysctlName(sysctl.name), sysctl.value])),
      securityContext: security.value,
      resources: linuxSandboxResources(pod, node, inputs),
      overhead: linuxSandboxOverhead(pod, node),
    },
  };
  return { ok: true, value: { config, runtimeHandler: handler.value, events: dns.events } };
}

/** How sandboxes and containers are found again: the runtime keeps no other tie to the pod. */
export function podLabels(pod: Pod): Record<string, string> {
  return {
    [containerLabels.podName]: pod.metadata.name,
    [containerLabels.podNamespace]: pod.metadata.namespace ?? '',
    [containerLabels.podUid]: pod.metadata.uid ?? '',
  };
}

/** Below which cgroup the runtime puts the pod's containers; `''` leaves it to the runtime. */
function podCgroupParent(pod: Pod, node: NodeFacts): string {
  return node.cgroupsPerQos ? cgroupPath(node.cgroupDriver, podCgroupName(node.cgroupRoot, podQosClass(pod), pod.metadata.uid ?? '')) : '';
}

/** A host-network pod has the node's name, so the runtime gets none. */
function sandboxHostname(pod: Pod, clusterDomain: string): Resolved<string> {
  if (pod.spec.hostNetwork === true) return { ok: true, value: '' };
  const name = podHostname(pod, clusterDomain);
  return name.ok ? kernelHostname(pod, name.value) : name;
}

function securityContext(pod: Pod, handler: string, node: NodeFacts, inputs: PodInputs): Resolved<LinuxSandboxSecurityContext> {
  const basic: LinuxSandboxSecurityContext = { privileged: hasPrivilegedContainer(pod), seccomp: { profileType: 'RuntimeDefault' } };
  const context = pod.spec.securityContext;
  // The API always gives a pod this object, if only an empty one.
  if (context === undefined) return { ok: true, value: basic };
  const namespaces = namespaceOptions(pod, handler, node.runtimeHandlers, inputs.userNamespaceMapping ?? null);
  if (!namespaces.ok) return namespaces;
  const policy = supplementalGroupsPolicy(context);
  if (!policy.ok) return policy;
  return {
    ok: true,
    value: {
      ...basic,
      ...userOf(context),
      namespaceOptions: namespaces.value,
      supplementalGroups: sandboxGroups(context, inputs.volumeSupplementalGroups ?? []),
      ...(policy.value === null ? {} : { supplementalGroupsPolicy: policy.value }),
    },
  };
}

function userOf(context: PodSecurityContext): Pick<LinuxSandboxSecurityContext, 'runAsUser' | 'runAsGroup' | 'selinuxOptions'> {
  return {
    ...(context.runAsUser === undefined ? {} : { runAsUser: context.runAsUser }),
    ...(context.runAsGroup === undefined ? {} : { runAsGroup: context.runAsGroup }),
    ...(context.seLinuxOptions === undefined ? {} : { selinuxOptions: context.seLinuxOptions }),
  };
}

function hasPrivilegedContainer(pod: Pod): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].some((container) => container.securityContext?.privileged === true);
}
