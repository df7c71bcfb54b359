// Single pods for embedders: the next actions for a pod, and its status.
import type { PodStatus } from '../../ports/model/pod-status.js';
import * as podActions from '../pod-sync/pod-actions.js';
import type { PodActions, PodActionsInput } from '../pod-sync/pod-actions-types.js';
import { isTerminalPhase as isTerminal } from '../status/phase.js';
import { apiPodStatus as apiPodStatusOf, type PodStatusInput } from '../status/pod-status.js';
import { podShape, podStatusShape, resourceRequirements } from './api-object-shapes.js';
import { callable, checkArgument, flag, integer, listOf, mapOf, measured, micros, nullable, oneOf, quantityInText, recordOf, text } from './shape.js';

const sandboxShape = recordOf({
  ...{ id: text, attempt: measured, state: oneOf(['ready', 'notReady']), networkMode: oneOf(['pod', 'node']) },
  ...{ hasNetwork: flag, ip: nullable(text), createdAt: micros },
});
const quantityOrNull = nullable(quantityInText);
const runtimeResources = recordOf({ cpuRequest: quantityOrNull, cpuLimit: quantityOrNull, memoryRequest: quantityOrNull, memoryLimit: quantityOrNull });
const containerStatusFields = {
  ...{ id: text, sandboxId: text, name: text, state: oneOf(['created', 'running', 'exited', 'unknown']) },
  ...{ createdAt: micros, startedAt: nullable(micros), finishedAt: nullable(micros), exitCode: integer, reason: text, message: text },
  ...{ restartCount: measured, hash: text, image: text, imageRef: text, imageId: text, resources: nullable(runtimeResources) },
  user: nullable(recordOf({ uid: integer, gid: integer, supplementalGroups: listOf(integer) })),
};
const containerStatusShape = recordOf(containerStatusFields, { stopSignal: text, preStop: recordOf({ handler: text, ports: text }) });
const runtimeStatusShape = recordOf({
  ...{ uid: text, name: text, namespace: text, ips: listOf(text) },
  ...{ sandboxes: listOf(sandboxShape), containers: listOf(containerStatusShape), observedAt: micros },
});
const probeResults = mapOf(oneOf(['success', 'failure', 'unknown']));
const actionsInput = recordOf({
  ...{ pod: podShape, status: runtimeStatusShape, restartAllContainers: flag, livenessResults: probeResults, startupResults: probeResults },
  actuated: recordOf({ containers: mapOf(resourceRequirements), pod: nullable(resourceRequirements) }),
});
const numberOrNull = nullable(integer);
const condition = recordOf({ type: text, status: text }, { reason: text, message: text });
const statusInput = recordOf({
  ...{ pod: podShape, cachedStatus: nullable(podStatusShape), runtime: runtimeStatusShape, runtimeType: text, runtimeSupportsRecursiveReadOnly: flag },
  ...{ containerStopSignals: flag, podIsTerminal: flag, startFailures: mapOf(recordOf({ reason: text, message: text })) },
  probes: recordOf({ readiness: probeResults, startup: probeResults, hasWorker: callable, kubeletStartedAt: micros }),
  node: recordOf({ addresses: listOf(recordOf({ type: text, address: text })), configuredIps: listOf(text) }),
  resizeConditions: listOf(condition),
  podCgroup: recordOf({ cpuShares: numberOrNull, cpuQuotaMicros: numberOrNull, cpuPeriodMicros: numberOrNull, memoryLimitBytes: numberOrNull }),
  now: micros,
});

/**
 * The next actions for a pod: kill it, create a sandbox, start, kill or resize containers. The kubelet's `computePodActions`.
 * @param input the pod as allocated, its state in the runtime (newest first), and the newest probe results by container id
 * @throws AssertionFailed where a field of `input` has another type
 */
export function computePodActions(input: PodActionsInput): PodActions {
  checkArgument('input', input, actionsInput);
  return podActions.computePodActions(input);
}

/**
 * A pod's status for the API: phase, conditions, container statuses, addresses. The kubelet's `generateAPIPodStatus`.
 * @param input data of the runtime, the probes and the cgroups; times are microseconds since the epoch
 * @throws AssertionFailed where a field of `input` has another type
 */
export function apiPodStatus(input: PodStatusInput): PodStatus {
  checkArgument('input', input, statusInput);
  return apiPodStatusOf(input);
}

/**
 * Whether a pod in this phase never runs again: `Succeeded` or `Failed`.
 * @throws AssertionFailed where `phase` is no string
 */
export function isTerminalPhase(phase: NonNullable<PodStatus['phase']>): boolean {
  checkArgument('phase', phase, text);
  return isTerminal(phase);
}
