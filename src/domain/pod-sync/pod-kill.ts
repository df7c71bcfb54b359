// Stops containers of a pod concurrently, each within its grace period and in its turn, and, if the whole pod ends, its sandboxes after
// them. Sandboxes are only stopped here: garbage collection removes them.
// Invariant: a sandbox is stopped only after every container of the kill has been stopped or failed.

import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { PortFailure } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import type { ReplyTo } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import { failed, succeeded } from './action-result.js';
import { beginContainerKill, containerKillDeadline, containerKillTimedOut, preStopEnded, stopAnswered, stopTimeoutSeconds, turnCame } from './container-kill.js';
import { containerOf } from './container-of.js';
import { type KillReason, minStopTimeoutSeconds } from './kill-grace.js';
import { beginHook, type HookReply, hookAddress, hookAnswered } from './lifecycle-hook.js';
import type { KillItem, PodKill } from './pod-kill-state.js';
import { podAddress, type SyncContext } from './sync-context.js';
import { isTurnToStop, terminationOrder } from './termination-order.js';

/** A runtime that restarts is back within seconds. */
const pauseAfterInterruption: Micros = microsPerSecond;

export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  readonly reason: KillReason;
  /** The event's text; null: the usual one. */
  readonly message: string | null;
}

/** Everything that runs of a pod, then its sandboxes. */
export function beginPodKill(pod: Pod, status: PodRuntimeStatus, gracePeriodOverrideSeconds: number | null, context: SyncContext): PodKill {
  const running = status.containers.filter((container) => container.state === 'running');
  const containers = running.map(({ id, name }): ContainerToKill => ({ id, name, reason: 'Unknown', message: null }));
  const order = terminationOrder(
    pod,
    running.map(({ name }) => name),
  );
  return begin(
    pod,
    containers,
    order,
    status.sandboxes.map(({ id }) => id),
    gracePeriodOverrideSeconds,
    context,
  );
}

/** Some containers of a pod that lives on. */
export function beginContainerKills(pod: Pod, containers: readonly ContainerToKill[], gracePeriodOverrideSeconds: number | null, context: SyncContext): PodKill {
  return begin(pod, containers, new Map(), [], gracePeriodOverrideSeconds, context);
}

function begin(
  pod: Pod,
  containers: readonly ContainerToKill[],
  order: ReadonlyMap<string, readonly string[]>,
  sandboxIds: readonly string[],
  gracePeriodOverrideSeconds: number | null,
  context: SyncContext,
): PodKill {
  const kill: PodKill = { pod, items: [], order, sandboxIds, phase: 'containers', asked: false, results: [] };
  for (const { id, name, reason, message } of containers) {
    const inOrder = (order.get(name) ?? []).length > 0;
    const begun = beginContainerKill({ pod, containerName: name, containerId: id, reason, message, gracePeriodOverrideSeconds, inOrder }, context.turn.now);
    if (begun.kind === 'refused') {
      kill.results.push(failed('KillContainer', name, 'KillContainerError', begun.message));
      continue;
    }
    context.event(pod, name, begun.event.type, begun.event.reason, begun.event.message);
    kill.items.push({ containerId: id, kill: begun.kill, hook: null, asked: false, stopUntil: null, retryAt: null });
  }
  return kill;
}

/** Sends due commands; returns their number. The phase shows whether the kill has ended. */
export function decidePodKill(kill: PodKill, uid: string, context: SyncContext): number {
  let sent = 0;
  if (kill.phase === 'containers') {
    for (const item of kill.items) sent += decideItem(kill, item, uid, context);
    if (kill.items.every((item) => item.kill.phase === 'done')) kill.phase = 'sandboxes';
    context.turn.wakeAt(podAddress(uid), nextDeadline(kill));
  }
  if (kill.phase !== 'sandboxes') return sent;
  if (!kill.asked) {
    kill.asked = true;
    for (const sandboxId of kill.sandboxIds) {
      context.turn.ask('sandboxes.stop', podAddress(uid), `stop/${sandboxId}`, { sandboxId }, context.settings.runtimeRequestTimeout);
      sent++;
    }
  }
  if (kill.results.filter(({ action }) => action === 'KillPodSandbox').length === kill.sandboxIds.length) kill.phase = 'done';
  return sent;
}

function decideItem(kill: PodKill, item: KillItem, uid: string, context: SyncContext): number {
  const { turn, settings } = context;
  containerKillTimedOut(item.kill, turn.now);
  if (item.kill.phase === 'preStop') runPreStop(kill, item, uid, context);
  if (item.kill.phase === 'turn' && isTurnToStop(kill.order, item.kill.containerName, stoppedNames(kill))) turnCame(item.kill, turn.now);
  if (item.kill.phase !== 'stop' || item.asked || (item.retryAt !== null && turn.now < item.retryAt)) return 0;
  item.asked = true;
  item.retryAt = null;
  const left = item.stopUntil === null ? stopTimeoutSeconds(item.kill) : Math.ceil((item.stopUntil - turn.now) / microsPerSecond);
  const gracePeriodSeconds = Math.max(left, minStopTimeoutSeconds);
  item.stopUntil ??= turn.now + gracePeriodSeconds * microsPerSecond;
  const request = { containerId: item.containerId, gracePeriodSeconds };
  turn.ask('containers.stop', podAddress(uid), `stop/${item.containerId}`, request, settings.runtimeRequestTimeout + gracePeriodSeconds * microsPerSecond);
  return 1;
}

/** Begins the hook, or ends its sleep. */
function runPreStop(kill: PodKill, item: KillItem, uid: string, context: SyncContext): void {
  const { containerName } = item.kill;
  const handler = containerOf(kill.pod, containerName)?.lifecycle?.preStop;
  if (item.hook === null && handler !== undefined) {
    const begun = beginHook({ pod: kill.pod, containerName, containerId: item.containerId, kind: 'preStop', handler, podIp: context.podIp(uid) }, context);
    if (begun.kind === 'failed') hookOver(kill, item, begun.message, context);
    else item.hook = begun.hook;
  }
  const until = item.hook?.sleepsUntil ?? null;
  if (until !== null && context.turn.now >= until) hookOver(kill, item, null, context);
}

/** Takes the answer to a hook of this kill, if it is one. */
export function applyPreStopReply(kill: PodKill, reply: HookReply, context: SyncContext): void {
  const item = kill.items.find(({ hook }) => hook?.slot === reply.slot);
  if (item?.hook == null || item.kill.phase !== 'preStop') return;
  const end = hookAnswered(item.hook, reply, context);
  if (end.kind !== 'again') hookOver(kill, item, end.kind === 'failed' ? end.message : null, context);
}

/** @param failure why it failed; for the log, since it may hold secrets */
function hookOver(kill: PodKill, item: KillItem, failure: string | null, context: SyncContext): void {
  if (failure !== null) context.turn.log('error', 'PreStop hook failed', { err: failure, podUID: kill.pod.metadata.uid ?? '', containerName: item.kill.containerName });
  const event = preStopEnded(item.kill, failure !== null, context.turn.now);
  if (event !== null) context.event(kill.pod, item.kill.containerName, event.type, event.reason, event.message);
}

export type KillReply = ReplyTo<AgentOperations, 'containers.stop' | 'sandboxes.stop'>;

/** Takes the answer to a stop. */
export function applyPodKillReply(kill: PodKill, uid: string, reply: KillReply, context: SyncContext): void {
  const failure = reply.outcome.ok ? null : reply.outcome.error;
  if (reply.op === 'containers.stop') {
    const item = kill.items.find(({ containerId }) => reply.slot === `stop/${containerId}`);
    assert(item !== undefined, 'a container was stopped that is not being killed', reply.slot);
    if (failure !== null && isInterrupted(item, failure, context)) return;
    stopAnswered(item.kill, failure);
    // A hook that outlived the grace period has no container left.
    if (item.hook !== null && item.kill.error === null) context.turn.cancel(hookAddress(uid), item.hook.slot);
    const { containerName, error } = item.kill;
    kill.results.push(error === null ? succeeded('KillContainer', containerName) : failed('KillContainer', containerName, 'KillContainerError', error));
    return;
  }
  const gone = failure === null || failure.kind === 'not-found';
  kill.results.push(gone ? succeeded('KillPodSandbox', uid) : failed('KillPodSandbox', uid, 'KillPodSandboxError', failure.message));
}

/** The runtime abandoned the stop within the grace period: repeats it with the rest of the grace period, before the sandbox is stopped. */
function isInterrupted(item: KillItem, { kind, message }: PortFailure, { turn }: SyncContext): boolean {
  if ((kind !== 'cancelled' && kind !== 'unavailable') || item.stopUntil === null || turn.now + pauseAfterInterruption >= item.stopUntil) return false;
  item.asked = false;
  item.retryAt = turn.now + pauseAfterInterruption;
  turn.log('warn', 'The stop of a container was interrupted; it is asked for again with the rest of the grace period', { containerID: item.containerId, err: message });
  return true;
}

function stoppedNames(kill: PodKill): Set<string> {
  return new Set(kill.items.filter((item) => item.kill.phase === 'done' && item.kill.error === null).map((item) => item.kill.containerName));
}

function nextDeadline(kill: PodKill): Micros | null {
  let next: Micros | null = null;
  for (const item of kill.items) {
    const sleepsUntil = item.kill.phase === 'preStop' ? (item.hook?.sleepsUntil ?? null) : null;
    const graceEnds = containerKillDeadline(item.kill);
    if (item.retryAt !== null && (next === null || item.retryAt < next)) next = item.retryAt;
    const deadline = graceEnds !== null && sleepsUntil !== null ? Math.min(graceEnds, sleepsUntil) : graceEnds;
    if (deadline !== null && (next === null || deadline < next)) next = deadline;
  }
  return next;
}
