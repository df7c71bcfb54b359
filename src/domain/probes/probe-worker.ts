// One probe of one container of one pod: when it runs, the result of its outcomes, and when the worker ends.
//
//   state    | due                         | answered                 | triggered   | stopped
//   idle     | idle, probing or ended      | (programmer error)       | due at once | ended
//   probing  | (programmer error)          | idle or probing (retry)  | due after   | ended
//   ended    | ended                       | ended                    | ended       | ended
//
// Invariants: results belong to a container id and change only by threshold; the pod, with its probe, is the one the worker was made for;
// after a result that restarts the container, or completes its startup, probing pauses until there is another container id.
import type { Micros } from '../../ports/micros.js';
import type { Container, Probe } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { assert } from '../kernel/assert.js';
import { conditionTypes, findCondition } from '../status/conditions.js';
import type { ProbeResult } from '../status/probe-state.js';
import { isRestartableAfterExit, isRestartableInit, triggersRestartAll } from '../status/restart-rules.js';
import { epochMicros } from '../values/instant.js';
import { runtimeContainerId } from '../values/pod-references.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';
import { type ProbeEvent, type ProbeKind, type ProbeOutcome, probeEvent } from './probe-outcome.js';

export interface ProbeWorker {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
  readonly kubeletStartedAt: Micros;
  state: 'idle' | 'probing' | 'ended';
  /** The runtime's id of the container that the results are about; null: none was seen yet. */
  containerId: string | null;
  /** The result that readers see for that container; null: none, as for a container that an earlier kubelet probed. */
  result: ProbeResult | null;
  /** Waiting for another container id. */
  onHold: boolean;
  lastResult: ProbeResult | null;
  /** How often `lastResult` came in a row. */
  resultRun: number;
  /** Of the current probe, from 1. */
  attempt: number;
  /** Ticks are at whole periods after this; the first one may be before it. */
  ticksFrom: Micros;
  nextTickAt: Micros;
}

/** A result that readers now see; liveness and startup failures restart the container. */
export interface ProbeChange {
  readonly containerId: string;
  readonly result: ProbeResult;
}

export interface ProbeStep {
  readonly published: readonly ProbeChange[];
  readonly event: ProbeEvent | null;
  /** `probe`: call the handler (again, at once). */
  readonly next: 'wait' | 'probe' | 'end';
}

/** Attempts of one probe while the handler errs. */
const probeAttemptsMax = 3;
/** A container that ran this long before the kubelet did counts as probed by the kubelet before. */
const takenOverAfter: Micros = 10 * microsPerSecond;
/** Spreads the probes of a hundred containers without a noticeable delay. */
const laterSpreadMax: Micros = 100_000;
const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = { liveness: 'success', readiness: 'failure', startup: 'unknown' };

export function probeOf(container: Container, kind: ProbeKind): Probe | null {
  return { liveness: container.livenessProbe, readiness: container.readinessProbe, startup: container.startupProbe }[kind] ?? null;
}

function periodOf(probe: Probe): Micros {
  // The API's default, for objects that did not pass through it; a period of 0 would be a busy loop.
  return Math.max(1, probe.periodSeconds ?? 10) * microsPerSecond;
}

/**
 * @param random in [0, 1): soon after the kubelet's start workers wait for that part of their period. Later the first tick is at once, and the second one slightly
 *   late, by that part of a short time, so that workers of one moment don't probe in bursts
 */
export function newProbeWorker(pod: Pod, container: Container, kind: ProbeKind, kubeletStartedAt: Micros, random: number, now: Micros): ProbeWorker {
  const probe = probeOf(container, kind);
  assert(probe !== null, `container ${container.name} has no ${kind} probe`);
  const period = periodOf(probe);
  const isEarly = now - kubeletStartedAt < period;
  const first = now + (isEarly ? Math.floor(random * period) : 0);
  const ticksFrom = isEarly ? first : now + period + Math.floor(random * Math.min(period / 10, laterSpreadMax));
  return {
    ...{ kind, pod, container, probe, kubeletStartedAt, state: 'idle', containerId: null, result: null, onHold: false },
    ...{ lastResult: null, resultRun: 0, attempt: 0, ticksFrom, nextTickAt: first },
  };
}

const nothing: ProbeStep = { published: [], event: null, next: 'wait' };

/** When a running container started, to the second; null: not in its status. */
export type StartOf = (container: ContainerStatus) => Micros | null;

/** For embedders and tests, whose timestamps and moments come from one clock. */
export function startByStamp({ state }: ContainerStatus): Micros | null {
  const stamp = parseRfc3339(state?.running?.startedAt ?? '');
  return stamp === null ? null : epochMicros(stamp);
}

/** Whether a container that the worker sees for the first time was probed by the kubelet before this one: its results are not reset. */
export type IsTakenOver = (worker: ProbeWorker, container: ContainerStatus, startedAt: Micros | null) => boolean;

/** As the reference: by the container's age. */
function isOlderThanKubelet({ kubeletStartedAt }: ProbeWorker, _container: ContainerStatus, startedAt: Micros | null): boolean {
  return startedAt !== null && startedAt + takenOverAfter < kubeletStartedAt;
}

/** Whether the reported status already has a result of that container. */
export function isReportedReady({ kind }: ProbeWorker, { ready, started }: ContainerStatus): boolean {
  return kind === 'readiness' ? ready : started === true;
}

/** A tick is due. @param status the last computed status of the pod; null: none yet */
export function probeDue(worker: ProbeWorker, status: PodStatus | null, now: Micros, startOf: StartOf, isTakenOver: IsTakenOver = isOlderThanKubelet): ProbeStep {
  if (worker.state === 'ended') return { ...nothing, next: 'end' };
  assert(worker.state === 'idle', 'a probe is already under way');
  worker.nextTickAt = tickAfter(worker, now);
  const published: ProbeChange[] = [];
  const next = status === null ? 'wait' : prepare(worker, status, { now, startOf, isTakenOver }, published);
  if (next === 'end') worker.state = 'ended';
  if (next === 'probe') {
    worker.state = 'probing';
    worker.attempt = 1;
  }
  return { published, event: null, next };
}

interface Situation {
  readonly now: Micros;
  readonly startOf: StartOf;
  readonly isTakenOver: IsTakenOver;
}

/** Users see the order of these tests: a hold outlasts the container, a dead container is a failure, a young one is skipped. */
function prepare(worker: ProbeWorker, status: PodStatus, { now, startOf, isTakenOver }: Situation, published: ProbeChange[]): ProbeStep['next'] {
  if (isTerminalPhase(status)) return 'end';
  const container = statusOf(worker, status);
  const id = container === null ? null : runtimeId(container);
  if (container === null || id === null) return 'wait';
  if (id !== worker.containerId) adoptContainer(worker, id, container, isTakenOver(worker, container, startOf(container)), published);
  if (worker.onHold) return 'wait';
  if (container.state?.running === undefined) {
    publish(worker, 'failure', published);
    return endsWith(worker, container, status) ? 'end' : 'wait';
  }
  if (worker.pod.metadata.deletionTimestamp !== undefined && worker.kind !== 'readiness') {
    publish(worker, 'success', published);
    return 'end';
  }
  return now >= probedFrom(worker, startOf(container)) && isItsTurn(worker, container) ? 'probe' : 'wait';
}

/** A new container id; counts of equal results continue, only a hold clears them. */
function adoptContainer(worker: ProbeWorker, id: string, status: ContainerStatus, isTakenOver: boolean, published: ProbeChange[]): void {
  worker.containerId = id;
  worker.result = null;
  worker.onHold = false;
  if (worker.kind === 'startup' && isRestartableInit(worker.container) && status.started === true) publish(worker, 'success', published);
  if (!isTakenOver) publish(worker, initialResults[worker.kind], published);
}

function publish(worker: ProbeWorker, result: ProbeResult, published: ProbeChange[]): void {
  assert(worker.containerId !== null, 'a result belongs to a container');
  if (worker.result === result) return;
  worker.result = result;
  published.push({ containerId: worker.containerId, result });
}

function endsWith(worker: ProbeWorker, container: ContainerStatus, status: PodStatus): boolean {
  const terminated = container.state?.terminated;
  if (terminated === undefined) return false;
  if (findCondition(status.conditions, conditionTypes.allContainersRestarting)?.status === 'True') return false;
  return !isRestartableAfterExit(worker.pod, worker.container, terminated.exitCode) && !triggersRestartAll(worker.container, terminated.exitCode);
}

/** Start-up probes until the container has started, the others from then on. */
function isItsTurn(worker: ProbeWorker, container: ContainerStatus): boolean {
  return (container.started === true) !== (worker.kind === 'startup');
}

function probedFrom(worker: ProbeWorker, startedAt: Micros | null): Micros {
  return (startedAt ?? Number.NEGATIVE_INFINITY) + (worker.probe.initialDelaySeconds ?? 0) * microsPerSecond;
}

/** The handler's answer to the current attempt. @param outcome ignored for an ended worker */
export function probeAnswered(worker: ProbeWorker, outcome: ProbeOutcome): ProbeStep {
  if (worker.state === 'ended') return { ...nothing, next: 'end' };
  assert(worker.state === 'probing', 'no probe is under way');
  if (outcome.kind === 'error' && worker.attempt < probeAttemptsMax) {
    worker.attempt++;
    return { ...nothing, next: 'probe' };
  }
  worker.state = 'idle';
  worker.attempt = 0;
  const event = probeEvent(worker.kind, outcome);
  if (outcome.kind === 'error') return { ...nothing, event };
  const published: ProbeChange[] = [];
  count(worker, outcome.result === 'success' || outcome.result === 'warning' ? 'success' : 'failure', published);
  return { published, event, next: 'wait' };
}

function count(worker: ProbeWorker, result: ProbeResult, published: ProbeChange[]): void {
  worker.resultRun = worker.lastResult === result ? worker.resultRun + 1 : 1;
  worker.lastResult = result;
  const threshold = result === 'failure' ? (worker.probe.failureThreshold ?? 3) : (worker.probe.successThreshold ?? 1);
  if (worker.resultRun < threshold) return;
  publish(worker, result, published);
  if (worker.kind === 'startup' || (worker.kind === 'liveness' && result === 'failure')) {
    worker.onHold = true;
    worker.resultRun = 0;
  }
}

/** Probes as soon as possible, and counts periods from then: a container that has just started becomes ready sooner. For readiness. */
export function triggerProbe(worker: ProbeWorker, now: Micros): void {
  assert(worker.kind === 'readiness', 'only readiness is asked for out of turn');
  worker.ticksFrom = now;
  worker.nextTickAt = now;
}

/** Permanent; ignores a late answer. */
export function stopProbeWorker(worker: ProbeWorker): void {
  worker.state = 'ended';
}

/**
 * The worker's next task if its pod's status doesn't change; null: only another status or an answer leads to one.
 * Call it again after each status change: it skips ticks without effect, and the others keep their times.
 */
export function probeWakeAt(worker: ProbeWorker, status: PodStatus | null, now: Micros, startOf: StartOf): Micros | null {
  if (worker.state !== 'idle' || status === null) return null;
  const soonest = worker.nextTickAt;
  if (isTerminalPhase(status)) return soonest;
  const container = statusOf(worker, status);
  const id = container === null ? null : runtimeId(container);
  if (container === null || id === null) return null;
  if (id !== worker.containerId) return soonest;
  if (worker.onHold) return null;
  if (container.state?.running === undefined) return worker.result !== 'failure' || endsWith(worker, container, status) ? soonest : null;
  if (worker.pod.metadata.deletionTimestamp !== undefined && worker.kind !== 'readiness') return soonest;
  if (!isItsTurn(worker, container)) return null;
  const from = probedFrom(worker, startOf(container));
  return from <= Math.max(now, soonest) ? soonest : tickAtOrAfter(worker, from);
}

/** Call it when the pod's status changed, before `probeWakeAt`: skips ticks that had no effect. */
export function skipMissedTicks(worker: ProbeWorker, now: Micros): void {
  if (worker.state === 'idle' && worker.nextTickAt < now) worker.nextTickAt = tickAtOrAfter(worker, now);
}

function tickAtOrAfter(worker: ProbeWorker, time: Micros): Micros {
  const period = periodOf(worker.probe);
  return worker.ticksFrom + Math.max(0, Math.ceil((time - worker.ticksFrom) / period)) * period;
}

/** One tick that fell into a long probe comes right after it; further ones are dropped. */
function tickAfter(worker: ProbeWorker, time: Micros): Micros {
  const period = periodOf(worker.probe);
  return worker.ticksFrom + Math.max(0, Math.floor((time - worker.ticksFrom) / period) + 1) * period;
}

function isTerminalPhase(status: PodStatus): boolean {
  return status.phase === 'Failed' || status.phase === 'Succeeded';
}

function statusOf(worker: ProbeWorker, status: PodStatus): ContainerStatus | null {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return all.find((candidate) => candidate.name === worker.container.name) ?? null;
}

/** Without the runtime's prefix; null while the container has none. */
function runtimeId(status: ContainerStatus): string | null {
  const id = runtimeContainerId(status.containerID);
  return id === '' ? null : id;
}
