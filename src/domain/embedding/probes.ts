// Probes for embedders: when a container's probe runs, and the result of its outcomes. A worker is plain data, changed in place.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { AssertionFailed } from '../kernel/assert.js';
import type { ProbeKind, ProbeOutcome } from '../probes/probe-outcome.js';
import type { ProbeStep, ProbeWorker } from '../probes/probe-worker.js';
import * as workers from '../probes/probe-worker.js';
import { containerShape, podShape, podStatusShape, probeShape } from './api-object-shapes.js';
import { checkArgument, expected, flag, isRecord, measured, moment, nullable, oneOf, recordOf, type Shape, text } from './shape.js';

const kindShape = oneOf(['liveness', 'readiness', 'startup']);
const resultShape = nullable(oneOf(['success', 'failure', 'unknown']));
const outcomeResult = oneOf(['success', 'warning', 'failure', 'unknown']);
const outcomeShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'error'
    ? recordOf({ result: outcomeResult, error: text })(value, path)
    : recordOf({ kind: oneOf(['result', 'error']), result: outcomeResult, output: text })(value, path);
const chance: Shape = (value, path) => (typeof value === 'number' && value >= 0 && value < 1 ? null : expected(path, 'a number from 0 up, below 1', value));

function workerIn(states: readonly ProbeWorker['state'][], kinds: readonly ProbeKind[] = ['liveness', 'readiness', 'startup']): Shape {
  return recordOf({
    ...{ kind: oneOf(kinds), pod: podShape, container: containerShape, probe: probeShape, kubeletStartedAt: moment, state: oneOf(states) },
    ...{ containerId: nullable(text), result: resultShape, onHold: flag, lastResult: resultShape, resultRun: measured, attempt: measured },
    ...{ ticksFrom: moment, nextTickAt: moment },
  });
}
const anyWorker = workerIn(['idle', 'probing', 'ended']);
const idleWorker = workerIn(['idle', 'ended']);
const askingWorker = workerIn(['probing', 'ended']);
const readinessWorker = workerIn(['idle', 'probing', 'ended'], ['readiness']);

/**
 * A worker for one probe of one container of a pod.
 * @param container one of the pod's, with a probe of that kind
 * @param kubeletStartedAt microseconds since the epoch
 * @param random in [0, 1): soon after the kubelet's start the first try waits for this part of the probe's period, later the second one for a part of
 *   100 ms at most, so that not all come at once
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type, or the container has no such probe
 */
export function newProbeWorker(pod: Pod, container: Container, kind: ProbeKind, kubeletStartedAt: Micros, random: number, now: Micros): ProbeWorker {
  checkArgument('pod', pod, podShape);
  checkArgument('container', container, containerShape);
  checkArgument('kind', kind, kindShape);
  checkArgument('kubeletStartedAt', kubeletStartedAt, moment);
  checkArgument('random', random, chance);
  checkArgument('now', now, moment);
  if (workers.probeOf(container, kind) === null) throw new AssertionFailed(`container: expected one with a ${kind} probe`);
  return workers.newProbeWorker(pod, container, kind, kubeletStartedAt, random, now);
}

/**
 * A probe is due (`probeWakeAt`): whether to run the probe's handler now.
 * @param worker one without a handler call in progress
 * @param status the pod's newest; null: none yet
 * @param now microseconds since the epoch
 * @returns results for readers, and `probe` to run the handler, `end` if the worker has ended
 * @throws AssertionFailed where an argument has another type, or the worker waits for an answer
 */
export function probeDue(worker: ProbeWorker, status: PodStatus | null, now: Micros): ProbeStep {
  checkArgument('worker', worker, idleWorker);
  checkArgument('status', status, nullable(podStatusShape));
  checkArgument('now', now, moment);
  return workers.probeDue(worker, status, now, workers.startByStamp);
}

/**
 * The handler's answer. Results change by the probe's thresholds; an error is retried at once, up to three times.
 * @param worker one with a handler call in progress
 * @param outcome `error` if the attempt itself failed, which says nothing about the container
 * @returns results for readers, the event, and `probe` to run the handler again
 * @throws AssertionFailed where an argument has another type, or no call is in progress
 */
export function probeAnswered(worker: ProbeWorker, outcome: ProbeOutcome): ProbeStep {
  checkArgument('worker', worker, askingWorker);
  checkArgument('outcome', outcome, outcomeShape);
  return workers.probeAnswered(worker, outcome);
}

/**
 * The worker's next time if the status doesn't change. Call it again after each change, after `skipMissedTicks`.
 * @returns microseconds since the epoch; null: only an answer or another status changes anything
 * @throws AssertionFailed where an argument has another type
 */
export function probeWakeAt(worker: ProbeWorker, status: PodStatus | null, now: Micros): Micros | null {
  checkArgument('worker', worker, anyWorker);
  checkArgument('status', status, nullable(podStatusShape));
  checkArgument('now', now, moment);
  return workers.probeWakeAt(worker, status, now, workers.startByStamp);
}

/**
 * Skips missed periods that would have had no effect: call it when the pod's status changed.
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type
 */
export function skipMissedTicks(worker: ProbeWorker, now: Micros): void {
  checkArgument('worker', worker, anyWorker);
  checkArgument('now', now, moment);
  workers.skipMissedTicks(worker, now);
}

/**
 * Triggers a readiness probe as soon as possible, and counts its periods from then: for a container that has just started.
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type, or the probe is none of readiness
 */
export function triggerProbe(worker: ProbeWorker, now: Micros): void {
  checkArgument('worker', worker, readinessWorker);
  checkArgument('now', now, moment);
  workers.triggerProbe(worker, now);
}

/**
 * Ends the worker permanently. A later answer is dropped.
 * @throws AssertionFailed where `worker` is none
 */
export function stopProbeWorker(worker: ProbeWorker): void {
  checkArgument('worker', worker, anyWorker);
  workers.stopProbeWorker(worker);
}
