// The pod's phase from its API container statuses and restart rules alone.
// Invariant: with an unknown container the phase is at most Pending; a container that waits for its
// restart counts as stopped, and never as succeeded, for any last exit code.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStateTerminated, ContainerStatus, PodPhase } from '../../ports/model/pod-status.js';
import { isStaticPod } from '../values/pod-kind.js';
import { isRestartableAfterExit, isRestartableInit, restartingAllContainers } from './restart-rules.js';

export interface PhaseInput {
  readonly pod: Pod;
  /** Statuses of init and regular containers, in any order. */
  readonly statuses: readonly ContainerStatus[];
  /** All containers have stopped permanently. */
  readonly podIsTerminal: boolean;
  /** A regular container was seen in the current sandbox. */
  readonly podHasInitialized: boolean;
}

interface Counts {
  pendingInit: number;
  permanentlyFailedInit: number;
  pendingSidecar: number;
  unknown: number;
  running: number;
  waiting: number;
  stopped: number;
  succeeded: number;
  notRestartable: number;
}

export function isTerminalPhase(phase: PodPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export function podPhase(input: PhaseInput): PodPhase {
  const counts = count(input);
  if (counts.permanentlyFailedInit > 0) return 'Failed';
  if (counts.pendingInit > 0 || (counts.pendingSidecar > 0 && !input.podHasInitialized) || counts.waiting > 0) return 'Pending';
  if (counts.unknown > 0) return 'Pending';
  if (counts.running > 0) return 'Running';
  if (counts.stopped === 0) return 'Pending';
  const allSucceeded = counts.stopped === counts.succeeded;
  // A static pod that was deleted never turns terminal by that alone: its file may come back under the same name.
  if (!(input.podIsTerminal && !isStaticPod(input.pod)) && counts.stopped > counts.notRestartable) return 'Running';
  return allSucceeded ? 'Succeeded' : 'Failed';
}

function count(input: PhaseInput): Counts {
  const counts: Counts = { pendingInit: 0, permanentlyFailedInit: 0, pendingSidecar: 0, unknown: 0, running: 0, waiting: 0, stopped: 0, succeeded: 0, notRestartable: 0 };
  const statusOf = (container: Container): ContainerStatus | null => input.statuses.find((status) => status.name === container.name) ?? null;
  for (const container of input.pod.spec.initContainers ?? []) {
    if (isRestartableInit(container)) countSidecar(counts, statusOf(container));
    else countInit(counts, input.pod, container, statusOf(container));
  }
  for (const container of input.pod.spec.containers) countRegular(counts, input.pod, container, statusOf(container));
  return counts;
}

function countInit(counts: Counts, pod: Pod, container: Container, status: ContainerStatus | null): void {
  const ended = endOf(status);
  if (ended === null) counts.pendingInit++;
  else if (ended.exitCode !== 0 && !mayRunAgain(pod, container, ended)) counts.permanentlyFailedInit++;
}

/** An ended sidecar doesn't affect the phase: it restarts as long as the pod runs. */
function countSidecar(counts: Counts, status: ContainerStatus | null): void {
  const state = status?.state;
  if (status === null) counts.unknown++;
  else if (state?.running !== undefined) {
    counts.running++;
    if (status.started !== true) counts.pendingSidecar++;
  } else if (endOf(status) === null) {
    counts.pendingSidecar++;
    if (state?.waiting === undefined) counts.unknown++;
    else counts.waiting++;
  }
}

function countRegular(counts: Counts, pod: Pod, container: Container, status: ContainerStatus | null): void {
  const state = status?.state;
  const ended = endOf(status);
  if (state?.running !== undefined) counts.running++;
  else if (ended !== null) {
    counts.stopped++;
    if (!mayRunAgain(pod, container, ended)) counts.notRestartable++;
    if (state?.terminated?.exitCode === 0) counts.succeeded++;
  } else if (state?.waiting !== undefined) counts.waiting++;
  else counts.unknown++;
}

/** The termination that a stopped container shows, now or while it waits to be restarted; null for one that runs or never ran. */
function endOf(status: ContainerStatus | null): ContainerStateTerminated | null {
  if (status?.state === undefined || status.state.running !== undefined) return null;
  if (status.state.terminated !== undefined) return status.state.terminated;
  return status.state.waiting !== undefined ? (status.lastState?.terminated ?? null) : null;
}

function mayRunAgain(pod: Pod, container: Container, ended: ContainerStateTerminated): boolean {
  return ended.reason === restartingAllContainers || isRestartableAfterExit(pod, container, ended.exitCode);
}
