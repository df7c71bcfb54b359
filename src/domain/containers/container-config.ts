// The configuration of a container for the runtime (CreateContainer).
// Invariant: the same inputs give the same configuration; an error in the spec is a message, which becomes the waiting
// message of reason CreateContainerConfigError.
import type { Container, EphemeralContainer } from '../../ports/model/container.js';
import type { ContainerConfig, ImageSpec, RuntimeDevice, RuntimeMount } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { LinuxContainerResources, NamespaceOptions } from '../../ports/model/sandbox-config.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { linuxContainerResources } from '../cgroups/linux-container-resources.js';
import { addressFields, hostIpsOf } from '../status/pod-addresses.js';
import { containerLabels } from '../values/container-labels.js';
import { containerLogPath } from '../values/log-paths.js';
import { type BlockVolume, blockDevices } from './block-devices.js';
import { type Annotation, annotationsOf } from './container-annotations.js';
import { containerEnv, type EnvSources } from './container-env.js';
import { type EnvVariable, expandCommandAndArgs } from './env-expansion.js';
import { runtimeEnvValue } from './env-value.js';
import { containerMounts, type MountedVolume, withIdMappings } from './mounts.js';
import { namespaceOptions, type Resolved, runtimeHandlerOf } from './namespaces.js';
import type { NodeFacts } from './node-facts.js';
import { kernelHostname, podHostname } from './pod-hostname.js';
import { type PodInputs, podLabels } from './sandbox-config.js';
import { containerSecurityContext, type ImageUser, nonRootProblem } from './security-context.js';

/** What device plugins and resource drivers give a container. */
export interface DeviceOptions {
  readonly envs?: readonly EnvVariable[];
  readonly annotations?: readonly Annotation[];
  readonly devices?: readonly RuntimeDevice[];
  readonly mounts?: readonly RuntimeMount[];
  /** Names of Container Device Interface devices. */
  readonly cdiDevices?: readonly string[];
}

export interface ContainerRequest extends PodInputs {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  /** The runtime's reference for the image reference in the spec. */
  readonly imageRef: string;
  readonly image: Pick<RuntimeImage, 'uid' | 'username'> | null;
  /** The host path of the termination message file; `''`: none could be made, and the container does without. */
  readonly terminationFile: string;
  readonly status: PodRuntimeStatus;
  readonly volumes?: Readonly<Record<string, MountedVolume>>;
  readonly blockVolumes?: Readonly<Record<string, BlockVolume>>;
  readonly imageVolumes?: Readonly<Record<string, ImageSpec>>;
  readonly subPathMounts?: Readonly<Record<number, string>>;
  readonly devices?: DeviceOptions;
  /** CPUs and NUMA nodes to which it is pinned. */
  readonly pinned?: Pick<LinuxContainerResources, 'cpusetCpus' | 'cpusetMems'>;
  /** None when left out. */
  readonly envSources?: ContainerEnvSources;
}

/** Services, config maps, secrets and files of variables. */
export type ContainerEnvSources = Pick<EnvSources, 'services' | 'servicesSynced' | 'objects' | 'volumeDirectories' | 'envFile'>;

export const noEnvSources: ContainerEnvSources = { services: null, servicesSynced: true, objects: null, volumeDirectories: {}, envFile: () => null };

export function containerConfig(request: ContainerRequest, node: NodeFacts): Resolved<ContainerConfig> {
  const { pod, container, restartCount, devices = {} } = request;
  const target = targetContainerId(request);
  if (!target.ok) return target;
  const name = podHostname(pod, node.clusterDomain);
  const kernelName = name.ok ? kernelHostname(pod, name.value) : name;
  if (!kernelName.ok) return kernelName;
  const blocks = blockDevices(container, request.blockVolumes ?? {});
  if (!blocks.ok) return blocks;
  const env = environment(request, node);
  if (!env.ok) return env;
  const mounts = mountsOf(request, env.value, node);
  if (!mounts.ok) return mounts;
  const imageUser: ImageUser = request.image ?? { uid: null, username: '' };
  const rootProblem = nonRootProblem(pod, container, imageUser);
  if (rootProblem !== null) return { ok: false, message: rootProblem };
  const security = containerSecurityContext(pod, container, imageUser, containerNamespaces(request, target.value, node), request.volumeSupplementalGroups ?? [], node);
  if (!security.ok) return security;
  const { command, args } = expandCommandAndArgs(container, env.value);
  return {
    ok: true,
    value: {
      metadata: { name: container.name, attempt: restartCount },
      image: { image: request.imageRef, userSpecifiedImage: container.image ?? '' },
      command,
      args,
      workingDir: container.workingDir ?? '',
      envs: env.value.map(({ name: key, value }) => ({ key, value: runtimeEnvValue(value) })),
      mounts: withIdMappings(mounts.value, security.value.namespaceOptions?.usernsOptions?.uids),
      devices: [...(devices.devices ?? []), ...blocks.value],
      cdiDevices: devices.cdiDevices ?? [],
      labels: { [containerLabels.containerName]: container.name, ...podLabels(pod) },
      annotations: annotationsOf(pod, container, restartCount, devices.annotations ?? []),
      logPath: containerLogPath(container.name, restartCount),
      stdin: container.stdin === true,
      stdinOnce: container.stdinOnce === true,
      tty: container.tty === true,
      ...stopSignalOf(container, node),
      linux: { resources: { ...linuxContainerResources(pod, container, node, request), ...request.pinned }, securityContext: security.value },
    },
  };
}

/** Without the gate the field is ignored, as if the API had never stored it. */
function stopSignalOf({ lifecycle }: Container, { containerStopSignals }: NodeFacts): { readonly stopSignal?: string } {
  return containerStopSignals && lifecycle?.stopSignal !== undefined ? { stopSignal: lifecycle.stopSignal } : {};
}

/** What devices bring comes first, so that the spec's own variables win in the process. */
export function environment(request: ContainerRequest, node: NodeFacts): Resolved<readonly EnvVariable[]> {
  const { pod, container } = request;
  const podIps = shownPodIps(request, node);
  const sources = request.envSources ?? noEnvSources;
  const env = containerEnv(pod, container, { podIps, nodeIps: node.nodeIps, nodeAddresses: node.nodeAddresses, allocatable: node.allocatable, ...sources });
  return env.ok ? { ok: true, value: [...(request.devices?.envs ?? []), ...env.value] } : env;
}

/** A pod on the host's network has the node's addresses, which its status shows from the first start on. */
function shownPodIps({ pod, podIps }: ContainerRequest, { nodeAddresses }: NodeFacts): readonly string[] {
  const isHosts = pod.spec.hostNetwork === true;
  if (!isHosts) return podIps;
  return (addressFields(podIps, hostIpsOf(nodeAddresses), isHosts).podIPs ?? []).map(({ ip }) => ip);
}

function mountsOf(request: ContainerRequest, env: readonly EnvVariable[], node: NodeFacts): Resolved<readonly RuntimeMount[]> {
  const handler = runtimeHandlerOf(request.pod, node.runtimeClasses);
  return containerMounts(request.pod, request.container, env, {
    volumes: request.volumes ?? {},
    imageVolumes: request.imageVolumes ?? {},
    subPathMounts: request.subPathMounts ?? {},
    deviceMounts: request.devices?.mounts ?? [],
    podIps: request.podIps,
    terminationFile: request.terminationFile,
    recursiveReadOnlySupported: handler.ok && node.runtimeHandlers.some((candidate) => candidate.name === handler.value && candidate.recursiveReadOnlyMounts),
    selinuxEnabled: node.selinuxEnabled,
    rootDirectory: node.rootDirectory,
  });
}

/** The pod's, but a debugging container may join the processes of the container that it was started for. */
function containerNamespaces(request: ContainerRequest, targetId: string | null, node: NodeFacts): Resolved<NamespaceOptions> {
  const handler = runtimeHandlerOf(request.pod, node.runtimeClasses);
  if (!handler.ok) return handler;
  const namespaces = namespaceOptions(request.pod, handler.value, node.runtimeHandlers, request.userNamespaceMapping ?? null);
  if (!namespaces.ok || targetId === null || namespaces.value.pid !== 'CONTAINER') return namespaces;
  return { ok: true, value: { ...namespaces.value, pid: 'TARGET', targetId } };
}

/** The newest container of the name that an ephemeral container targets; null for containers that target none. */
function targetContainerId({ pod, container, status }: ContainerRequest): Resolved<string | null> {
  const ephemeral: EphemeralContainer | undefined = pod.spec.ephemeralContainers?.find((candidate) => candidate.name === container.name);
  const target = ephemeral?.targetContainerName ?? '';
  if (target === '') return { ok: true, value: null };
  const newest = status.containers.find((candidate) => candidate.name === target);
  return newest === undefined ? { ok: false, message: `unable to find target container ${target}` } : { ok: true, value: newest.id };
}
