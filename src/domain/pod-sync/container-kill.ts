// Stopping one container: the preStop hook, its turn among the pod's containers, then the runtime's stop, all within one grace period.
//
//   preStop  -- the hook or the grace period ended --> turn      (only with a hook and a grace period)
//   turn     -- its turn came, or the grace period ended --> stop (at once if it waits for no other container)
//   stop     -- the runtime answered --> done
//
// Time is subtracted from the grace period in whole seconds, separately for the hook and for the turn.
// Invariant: the event comes before the hook; a hook that exceeds the grace period is abandoned and reports nothing.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PortFailure } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { microsPerSecond } from '../values/time.js';
import { containerOf } from './container-of.js';
import { containerGracePeriodSeconds, type KillReason, minStopTimeoutSeconds } from './kill-grace.js';

export interface KillEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'Killing' | 'FailedPreStopHook';
  readonly message: string;
}

/** Plain data, changed in place by the functions below. */
export interface ContainerKill {
  readonly containerName: string;
  phase: 'preStop' | 'turn' | 'stop' | 'done';
  /** The start of the phase. */
  since: Micros;
  /** The remaining grace period at the beginning of the phase. */
  remainingSeconds: number;
  readonly inOrder: boolean;
  /** The cause of a failure; null: none. */
  error: string | null;
}

export interface ContainerKillRequest {
  /** The pod, or its restored part. */
  readonly pod: Pod;
  readonly containerName: string;
  /** With the runtime's name, e.g. `containerd://abc`; for the error text. */
  readonly containerId: string;
  readonly reason: KillReason;
  /** The event's text; null: the usual one. */
  readonly message: string | null;
  readonly gracePeriodOverrideSeconds: number | null;
  /** Whether the container has to wait for its turn (a whole pod with sidecars is being stopped). */
  readonly inOrder: boolean;
}

export type BegunKill = { readonly kind: 'begun'; readonly kill: ContainerKill; readonly event: KillEvent } | { readonly kind: 'refused'; readonly message: string };

/** Refused when the pod has no such container: without its spec neither hook nor grace period are known. */
export function beginContainerKill(request: ContainerKillRequest, now: Micros): BegunKill {
  const { pod, containerName, reason } = request;
  const container = containerOf(pod, containerName);
  const message = request.message ?? '';
  if (container === null) {
    const [name, id, podText, why] = [containerName, request.containerId, podReferenceTextOf(pod), message].map((text) => JSON.stringify(text));
    return { kind: 'refused', message: `failed to get containerSpec ${name} (id=${id}) in pod ${podText} when killing container for reason ${why}` };
  }
  const remainingSeconds = containerGracePeriodSeconds(pod, container, reason, request.gracePeriodOverrideSeconds);
  const kill: ContainerKill = { containerName, phase: 'preStop', since: now, remainingSeconds, inOrder: request.inOrder, error: null };
  if (container.lifecycle?.preStop === undefined || remainingSeconds <= 0) enterTurn(kill, now);
  return { kind: 'begun', kill, event: { type: 'Normal', reason: 'Killing', message: message === '' ? `Stopping container ${containerName}` : message } };
}

/** When the present phase ends by itself; null when it doesn't (the runtime's stop has a deadline of its own). */
export function containerKillDeadline(kill: ContainerKill): Micros | null {
  return kill.phase === 'preStop' || kill.phase === 'turn' ? kill.since + kill.remainingSeconds * microsPerSecond : null;
}

/** The hook ended. Its error is dropped, since it may contain secrets. Ignored for an abandoned hook. */
export function preStopEnded(kill: ContainerKill, failed: boolean, now: Micros): KillEvent | null {
  if (kill.phase !== 'preStop') return null;
  spend(kill, now);
  enterTurn(kill, now);
  return failed ? { type: 'Warning', reason: 'FailedPreStopHook', message: 'PreStopHook failed' } : null;
}

/** Everything that this container waits for has stopped. */
export function turnCame(kill: ContainerKill, now: Micros): void {
  if (kill.phase !== 'turn') return;
  spend(kill, now);
  kill.phase = 'stop';
}

/** The deadline of `containerKillDeadline` has passed: the phase ends. */
export function containerKillTimedOut(kill: ContainerKill, now: Micros): void {
  const deadline = containerKillDeadline(kill);
  if (deadline === null || now < deadline) return;
  if (kill.phase === 'preStop') preStopEnded(kill, false, now);
  else turnCame(kill, now);
}

/** The timeout of the runtime's stop request. */
export function stopTimeoutSeconds(kill: ContainerKill): number {
  assert(kill.phase === 'stop', 'a container is not to be stopped yet', kill.containerName);
  return Math.max(kill.remainingSeconds, minStopTimeoutSeconds);
}

/** The runtime answered; null: it stopped the container. A missing container counts as stopped. */
export function stopAnswered(kill: ContainerKill, failure: PortFailure | null): void {
  assert(kill.phase === 'stop', 'a container was not being stopped', kill.containerName);
  kill.phase = 'done';
  kill.error = failure === null || failure.kind === 'not-found' ? null : failure.message;
}

function enterTurn(kill: ContainerKill, now: Micros): void {
  kill.phase = kill.inOrder && kill.remainingSeconds > 0 ? 'turn' : 'stop';
  kill.since = now;
}

function spend(kill: ContainerKill, now: Micros): void {
  kill.remainingSeconds -= Math.floor((now - kill.since) / microsPerSecond);
  kill.since = now;
}
