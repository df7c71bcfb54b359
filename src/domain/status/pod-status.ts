// A pod's status from the runtime's report, the previous status, and the kubelet's own state: the input of
// the status manager, which adds transition times and the start time.
// Invariants: a terminal phase never changes back, neither the cached nor the API's; conditions have a fixed order.
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodCondition, PodPhase, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { podQosClass } from '../qos/qos-class.js';
import {
  conditionTypes,
  containersReadyCondition,
  findCondition,
  initializedCondition,
  isKubeletOwnedCondition,
  podCondition,
  readyCondition,
  withCondition,
} from './conditions.js';
import { type ContainerKind, containerStatuses, type StartFailure } from './container-statuses.js';
import { deadlineExceeded } from './deadline.js';
import { isTerminalPhase, podPhase } from './phase.js';
import { addressFields, hostIpsOf, type NodeAddress, podIpsInOrder } from './pod-addresses.js';
import { type PodCgroupReading, podActualResources, podAllocatedResources } from './pod-level-resources.js';
import { type ProbeView, withInitProbeState, withProbeState } from './probe-state.js';
import { allContainersRestartingCondition, isRestartingAll } from './restart-all.js';
import { podHasRestartAllRule } from './restart-rules.js';
import { activeContainerStatuses } from './runtime-lookup.js';
import { checkSandbox } from './sandbox-check.js';

export interface PodStatusInput {
  /** The pod as allocated, with `status` as the API server has it. */
  readonly pod: Pod;
  /** The status manager's last status; null: none for this pod. */
  readonly cachedStatus: PodStatus | null;
  readonly runtime: PodRuntimeStatus;
  /** Prefix of container ids in the API, e.g. `containerd`. */
  readonly runtimeType: string;
  readonly runtimeSupportsRecursiveReadOnly: boolean;
  /** The gate ContainerStopSignals: statuses report each container's stop signal. */
  readonly containerStopSignals: boolean;
  /** All containers have stopped permanently. */
  readonly podIsTerminal: boolean;
  /** Why the last start of a container failed, by container name. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  readonly probes: ProbeView;
  readonly node: {
    readonly addresses: readonly NodeAddress[];
    /** The node IPs the kubelet was configured with; the first decides the primary family of pod IPs. */
    readonly configuredIps: readonly string[];
  };
  /** Resize conditions held by the status manager. */
  readonly resizeConditions: readonly PodCondition[];
  readonly podCgroup: PodCgroupReading;
  /** It has exceeded its active deadline. */
  readonly isPastDeadline: boolean;
}

interface Phase {
  readonly phase: PodPhase;
  readonly reason: string;
  readonly message: string;
}

export function apiPodStatus(input: PodStatusInput): PodStatus {
  const { pod, runtime } = input;
  const previous = input.cachedStatus ?? pod.status ?? {};
  const restartingAll = isRestartingAll(pod, runtime, previous);
  const unprobed = {
    regular: statusesOf(input, 'regular', previous.containerStatuses, restartingAll),
    init: statusesOf(input, 'init', previous.initContainerStatuses, restartingAll),
    ephemeral: statusesOf(input, 'ephemeral', previous.ephemeralContainerStatuses, restartingAll),
  };
  const phase = phaseOf(input, previous, [...unprobed.regular, ...unprobed.init]);
  const regular = withProbeState(pod, unprobed.regular, input.probes);
  const init = withInitProbeState(pod, unprobed.init, input.probes);
  const hostIps = hostIpsOf(input.node.addresses);

  return {
    phase: phase.phase,
    conditions: conditionsOf(input, previous, [...init, ...regular], phase.phase),
    ...(phase.message === '' ? {} : { message: phase.message }),
    ...(phase.reason === '' ? {} : { reason: phase.reason }),
    ...addressFields(podIpsInOrder(runtime.ips, input.node.configuredIps, input.cachedStatus?.podIP), hostIps, pod.spec.hostNetwork === true),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    ...(regular.length > 0 ? { containerStatuses: regular } : {}),
    ...(unprobed.ephemeral.length > 0 ? { ephemeralContainerStatuses: unprobed.ephemeral } : {}),
    qosClass: podQosClass(pod),
    allocatedResources: podAllocatedResources(pod),
    resources: podActualResources(pod, previous, input.podCgroup),
  };
}

function statusesOf(input: PodStatusInput, kind: ContainerKind, previous: readonly ContainerStatus[] | undefined, restartingAll: boolean): readonly ContainerStatus[] {
  const { pod, runtime, startFailures, runtimeSupportsRecursiveReadOnly, containerStopSignals, runtimeType } = input;
  const settings = { runtimeSupportsRecursiveReadOnly, containerStopSignals, runtimeType };
  return containerStatuses({ pod, runtime, kind, previous: previous ?? [], startFailures, restartingAll, ...settings });
}

/** The computed phase, then a previous terminal phase, then a deadline; a terminal phase in the API wins. */
function phaseOf(input: PodStatusInput, previous: PodStatus, statuses: readonly ContainerStatus[]): Phase {
  const api = input.pod.status;
  let phase = podPhase({ pod: input.pod, statuses, podIsTerminal: input.podIsTerminal, podHasInitialized: podHasInitialized(input.pod, input.runtime) });
  if (!isTerminalPhase(phase)) {
    if (previous.phase !== undefined && isTerminalPhase(previous.phase)) phase = previous.phase;
    else if (api?.phase !== undefined && isTerminalPhase(api.phase)) phase = api.phase;
  }
  // Reason and message belong to the phase that they were given with.
  const kept = phase === previous.phase;
  let reason = kept ? previous.reason || api?.reason || '' : '';
  let message = kept ? previous.message || api?.message || '' : '';
  const eviction = input.isPastDeadline ? deadlineExceeded : null;
  if (eviction !== null) {
    phase = 'Failed';
    reason = eviction.reason;
    message = eviction.message;
  }
  if (api?.phase !== undefined && isTerminalPhase(api.phase)) phase = api.phase;
  return { phase, reason, message };
}

/** Whether a regular container was seen in the sandbox that is in use now. */
function podHasInitialized(pod: Pod, runtime: PodRuntimeStatus): boolean {
  const regular = new Set(pod.spec.containers.map((container) => container.name));
  return activeContainerStatuses(runtime).some((status) => regular.has(status.name));
}

function conditionsOf(input: PodStatusInput, previous: PodStatus, statuses: readonly ContainerStatus[], phase: PodPhase): readonly PodCondition[] {
  const { pod, runtime } = input;
  const generation = pod.metadata.generation;
  let conditions: readonly PodCondition[] = (pod.status?.conditions ?? []).filter((condition) => !isKubeletOwnedCondition(condition.type));
  if (!input.podIsTerminal) conditions = [...conditions, ...input.resizeConditions.map((condition) => ofGeneration(condition, generation))];
  const disruption = findCondition(previous.conditions, conditionTypes.disruptionTarget);
  if (disruption !== null) conditions = withCondition(conditions, disruption);

  const connected = podCondition(conditionTypes.podReadyToStartContainers, checkSandbox(pod, runtime).needsNew ? 'False' : 'True', generation);
  const initialized = initializedCondition(pod, statuses, phase, previous.conditions ?? []);
  const containersReady = containersReadyCondition(pod, statuses, phase);
  const gated = [...conditions, connected, initialized];
  return [
    ...gated,
    readyCondition(pod, gated, containersReady),
    containersReady,
    podCondition(conditionTypes.podScheduled, 'True', generation),
    ...(podHasRestartAllRule(pod) ? [allContainersRestartingCondition(pod, runtime, previous, phase)] : []),
  ];
}

/** A resize condition keeps the generation it was made for; a pod without generations (static) has none. */
function ofGeneration(condition: PodCondition, generation: number | undefined): PodCondition {
  if (generation !== undefined && generation !== 0) return condition;
  const { observedGeneration: _, ...rest } = condition;
  return rest;
}
