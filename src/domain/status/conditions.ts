// The conditions that the kubelet writes into a pod's status, and the owner of each condition.
// Invariant: every False condition has a reason or message, except where the API has it bare (PodReadyToStartContainers,
// AllContainersRestarting); names are in spec order, sidecars before regular containers, so texts are stable.
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodCondition, PodPhase } from '../../ports/model/pod-status.js';
import { derived } from '../values/derived.js';
import { isRestartableInit } from './restart-rules.js';

export const conditionTypes = {
  podScheduled: 'PodScheduled',
  ready: 'Ready',
  initialized: 'Initialized',
  containersReady: 'ContainersReady',
  podResizePending: 'PodResizePending',
  podResizeInProgress: 'PodResizeInProgress',
  podReadyToStartContainers: 'PodReadyToStartContainers',
  allContainersRestarting: 'AllContainersRestarting',
  disruptionTarget: 'DisruptionTarget',
} as const;

const { podScheduled, ready, initialized, containersReady, podResizePending, podResizeInProgress, podReadyToStartContainers, allContainersRestarting, disruptionTarget } =
  conditionTypes;
const owned: ReadonlySet<string> = new Set([
  podScheduled,
  ready,
  initialized,
  containersReady,
  podResizePending,
  podResizeInProgress,
  podReadyToStartContainers,
  allContainersRestarting,
]);

/** Conditions that only the kubelet writes; all others keep the API's value. */
export function isKubeletOwnedCondition(type: string): boolean {
  return owned.has(type);
}

/** Written by the kubelet and by others. */
export function isSharedCondition(type: string): boolean {
  return type === disruptionTarget;
}

export function findCondition(conditions: readonly PodCondition[] | undefined, type: string): PodCondition | null {
  return conditions?.find((condition) => condition.type === type) ?? null;
}

/** `conditions` with `condition` in the place of the one of its type, or at the end. */
export function withCondition(conditions: readonly PodCondition[], condition: PodCondition): readonly PodCondition[] {
  const at = conditions.findIndex((existing) => existing.type === condition.type);
  return at < 0 ? [...conditions, condition] : conditions.with(at, condition);
}

/** A condition with its nonempty fields: empty texts and generation 0 are absent on the wire. */
export function podCondition(type: string, status: string, generation: number | undefined, reason = '', message = ''): PodCondition {
  const condition: { -readonly [Field in keyof PodCondition]: PodCondition[Field] } =
    generation === undefined || generation === 0 ? { type, status } : { type, observedGeneration: generation, status };
  if (reason !== '') condition.reason = reason;
  if (message !== '') condition.message = message;
  return condition;
}

/** Sorted out by how far the statuses of the named containers are known and good; both lists in spec order. */
interface Shortcomings {
  readonly unknown: readonly string[];
  readonly short: readonly string[];
}

/**
 * ContainersReady: every sidecar and regular container is ready.
 * @param statuses init and regular statuses; null when nothing at all is known
 */
export function containersReadyCondition(pod: Pod, statuses: readonly ContainerStatus[] | null, phase: PodPhase | undefined): PodCondition {
  const generation = pod.metadata.generation;
  if (statuses === null) return podCondition(containersReady, 'False', generation, 'UnknownContainerStatuses');
  const found = shortcomings(lastingContainerNames(pod), statuses, (status) => status.ready);
  if (phase === 'Succeeded' && found.unknown.length === 0) return podCondition(containersReady, 'False', generation, 'PodCompleted');
  if (phase === 'Failed') return podCondition(containersReady, 'False', generation, 'PodFailed');
  const message = describe(found, 'unready');
  if (message !== '') return podCondition(containersReady, 'False', generation, 'ContainersNotReady', message);
  return podCondition(containersReady, 'True', generation);
}

/**
 * Ready: ContainersReady and every readiness gate.
 * @param gateConditions the conditions of the gates
 */
export function readyCondition(pod: Pod, gateConditions: readonly PodCondition[], containers: PodCondition): PodCondition {
  const generation = pod.metadata.generation;
  if (containers.status !== 'True') return podCondition(ready, containers.status, generation, containers.reason, containers.message);
  const messages: string[] = [];
  for (const { conditionType } of pod.spec.readinessGates ?? []) {
    const gate = findCondition(gateConditions, conditionType);
    if (gate === null) messages.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`);
    else if (gate.status !== 'True') messages.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`);
  }
  if (messages.length > 0) return podCondition(ready, 'False', generation, 'ReadinessGatesNotReady', messages.join(', '));
  return podCondition(ready, 'True', generation);
}

/**
 * Initialized: all init containers are done. Once True it stays True, since restarting all containers in place runs the init containers again.
 * @param statuses init and regular statuses; null when nothing at all is known
 */
export function initializedCondition(pod: Pod, statuses: readonly ContainerStatus[] | null, phase: PodPhase | undefined, oldConditions: readonly PodCondition[]): PodCondition {
  const generation = pod.metadata.generation;
  const initContainers = pod.spec.initContainers ?? [];
  if (statuses === null && initContainers.length > 0) return podCondition(initialized, 'False', generation, 'UnknownContainerStatuses');
  const sidecars = new Set(initContainers.filter(isRestartableInit).map((container) => container.name));
  const found = shortcomings(
    initContainers.map((container) => container.name),
    statuses ?? [],
    (status) => (sidecars.has(status.name) ? status.started === true : status.ready),
  );
  if (phase === 'Succeeded' && found.unknown.length === 0) return podCondition(initialized, 'True', generation, 'PodCompleted');
  if (hasAnyRegularContainerStarted(pod, statuses ?? [])) return podCondition(initialized, 'True', generation);
  const message = describe(found, 'incomplete');
  if (message !== '' && findCondition(oldConditions, initialized)?.status !== 'True') {
    return podCondition(initialized, 'False', generation, 'ContainersNotInitialized', message);
  }
  return podCondition(initialized, 'True', generation);
}

/** Whether a status shows a regular container that runs or ran: then init containers must have been through. */
export function hasAnyRegularContainerStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  return pod.spec.containers.some((container) => {
    const state = statuses.find((status) => status.name === container.name)?.state;
    return state?.running !== undefined || state?.terminated !== undefined;
  });
}

/** What ContainersReady and Ready become when the phase turns terminal. */
export function terminalReadyCondition(type: 'Ready' | 'ContainersReady', phase: PodPhase, generation: number | undefined): PodCondition {
  return podCondition(type, 'False', generation, phase === 'Failed' ? 'PodFailed' : phase === 'Succeeded' ? 'PodCompleted' : '');
}

const lastingContainerNames = derived((pod: Pod): readonly string[] =>
  [...(pod.spec.initContainers ?? []).filter(isRestartableInit), ...pod.spec.containers].map((container) => container.name),
);

function shortcomings(names: readonly string[], statuses: readonly ContainerStatus[], isGood: (status: ContainerStatus) => boolean): Shortcomings {
  const unknown: string[] = [];
  const short: string[] = [];
  for (const name of names) {
    const status = statuses.find((candidate) => candidate.name === name);
    if (status === undefined) unknown.push(name);
    else if (!isGood(status)) short.push(name);
  }
  return { unknown, short };
}

function describe(found: Shortcomings, word: 'unready' | 'incomplete'): string {
  const messages: string[] = [];
  if (found.unknown.length > 0) messages.push(`containers with unknown status: [${found.unknown.join(' ')}]`);
  if (found.short.length > 0) messages.push(`containers with ${word} status: [${found.short.join(' ')}]`);
  return messages.join(', ');
}
