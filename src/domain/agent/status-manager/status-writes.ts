// Writes pods' statuses to the API: a queue of pods with unsent changes, processed a few at a time, one request in flight a pod.
// No write is periodic: a pod is queued when its status changes, when the API differs from what was sent, or
// when its worker ends; accumulated changes become one request.
//
//   queued -> read | patch | delete in flight -> queued, while changes are unsent -> at rest
//   a failed or overloaded server pauses the whole queue; any other refusal only its pod
//
// Invariant: the pause is bounded and only delays; unsent changes stay queued.

import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PortFailure } from '../../../ports/port-error.js';
import { typedObject } from '../../api-data/typed-object.js';
import { nextPause } from '../../backoff/doubled-pause.js';
import type { Address } from '../../kernel/machine.js';
import { configHashAnnotation } from '../../pod-sources/static-pod-defaults.js';
import { couldHaveRunningContainers } from '../../pod-workers/queries.js';
import { illegalTransition, markSent, mayDeleteFromApi, needsReconcile, type StatusRecord } from '../../status/status-manager.js';
import { aim, heldToApi, newestPod, newStatusWrite, nextWriteStep, type StatusWrite, type StatusWrites, type WriteStep } from '../../status/status-write.js';
import { configMirrorAnnotation, isMirrorPod, isStaticPod } from '../../values/pod-kind.js';
import { podFullNameOf } from '../../values/pod-references.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { hasClaims } from '../dra-manager/held-claims.js';
import type { AnswerOf } from '../part.js';
import { cachedObject } from '../reflectors/api-state.js';
import { asStatusManager, type StatusManagerContext, statusManagerState } from './slice.js';

/** Pods whose status is being written side by side; more wait. */
const maxWrites = 8;
const writeTimeout: Micros = 60_000_000;
/** How often at most a status that others tamper with is sent again, and how long a refusal is believed. */
const repairPeriod: Micros = 10_000_000;
const shortestPause: Micros = 1_000_000;
const longestPause: Micros = 10_000_000;

/** Queued pods that one step checks: hundreds of queued pods may be unchanged, for example after a restart. */
const maxChecksAStep = 16;
const sliceGap: Micros = 1_000;

export const statusWriteMachine = 'status-write';
export const restAddress = { machine: 'status-writes-rest', key: '' } as const;
export const pauseAddress = { machine: 'status-writes', key: '' } as const;

function podAddress(uid: string): Address {
  return { machine: statusWriteMachine, key: uid };
}

/** The pod's status may have changed. */
export function queueStatusWrite(view: AgentView, uid: string): void {
  const { api, statuses } = statusManagerState(view);
  if (api !== null && statuses.has(uid)) api.statusWrites.queue.add(uid);
}

/** The API shows a pod of the node, new or changed. */
export function apiPodShown(context: AgentContext, shown: Pod): void {
  const { state, turn } = context;
  const uid = isMirrorPod(shown) ? state.pods.podsByFullName.get(podFullNameOf(shown))?.metadata.uid : shown.metadata.uid;
  const record = uid === undefined ? undefined : state.statuses.get(uid);
  if (uid === undefined || record === undefined || state.api === null) return;
  const write = state.api.statusWrites.pods.get(uid);
  if (write === undefined || write.target !== shown.metadata.uid || write.sentVersion < record.version || mayDeleteFromApi(shown, record)) queueStatusWrite(state, uid);
  // An object older than the last own request has no news.
  else if (newestPod(write, shown) === shown && needsReconcile(shown, record)) turn.wakeAt(podAddress(uid), Math.max(turn.now, (write.wroteAt ?? 0) + repairPeriod));
}

/** Begins writes up to the concurrency limit. Called at the end of each step. */
export function planStatusWrites(context: StatusManagerContext): void {
  const { state, turn } = context;
  const writes = state.api?.statusWrites;
  if (writes === undefined || writes.queue.size === 0 || (writes.pausedUntil !== null && turn.now < writes.pausedUntil)) return;
  // After a pause a single one goes first.
  const most = writes.pause > 0 ? 1 : maxWrites;
  let checked = 0;
  for (const uid of writes.queue) {
    if (writes.active >= most) return;
    if (checked++ === maxChecksAStep) {
      turn.wakeAt(restAddress, turn.now + sliceGap);
      return;
    }
    const write = writes.pods.get(uid) ?? newStatusWrite();
    // It comes back with its answer.
    if (write.sending !== null) continue;
    writes.queue.delete(uid);
    writes.pods.set(uid, write);
    context.forPod(uid, () => begin(context, uid, write));
  }
}

/** The pause has ended. */
export function statusWritesResumed({ state }: StatusManagerContext): void {
  if (state.api !== null) state.api.statusWrites.pausedUntil = null;
}

function begin(context: StatusManagerContext, uid: string, write: StatusWrite): void {
  const { state, turn } = context;
  const known = state.statuses.get(uid);
  if (known === undefined) return;
  const watched = watchedPod(state, uid);
  const isNewMirror = watched !== null && aim(write, watched) && isMirrorPod(watched);
  const record = isNewMirror ? heldToApi(known, watched.status ?? {}, turn.wall) : known;
  if (record !== known) replaceRecord(state, uid, known, record);
  const step = nextWriteStep(write, { record, watched, couldHaveRunningContainers: couldHaveRunningContainers(state.workers, uid) || hasClaims(state, uid), wall: turn.wall });
  if (step.do === 'nothing' || watched === null) {
    if (watched !== null) sent(state, uid, write, record.version);
    return;
  }
  write.sending = record.version;
  if (step.do === 'patch') write.patched = step.body;
  (state.api as NonNullable<typeof state.api>).statusWrites.active++;
  ask(context, uid, step, watched);
}

function ask({ turn }: StatusManagerContext, uid: string, step: Exclude<WriteStep, { do: 'nothing' }>, { metadata }: Pod): void {
  const pod = { resource: { group: '', version: 'v1', plural: 'pods' }, namespace: metadata.namespace ?? '', name: metadata.name, client: 'main' } as const;
  const address = podAddress(uid);
  if (step.do === 'read') turn.ask('apiReader.get', address, 'request', { ...pod, resourceVersion: null }, writeTimeout);
  else if (step.do === 'patch') turn.ask('apiWriter.patch', address, 'request', { ...pod, subresource: 'status', patch: 'strategic-merge-patch', body: step.body }, writeTimeout);
  else turn.ask('apiWriter.delete', address, 'request', { ...pod, gracePeriodSeconds: 0, uid: metadata.uid ?? '' }, writeTimeout);
}

export function statusWriteReplied(context: StatusManagerContext, uid: string, reply: StatusWriteAnswer): void {
  const { statuses, api } = context.state;
  const writes = api?.statusWrites;
  const write = writes?.pods.get(uid);
  if (writes === undefined || write === undefined) return;
  answered(context, uid, reply, writes, write);
  if (!statuses.has(uid)) forgetStatusWrite(context, uid);
}

type StatusWriteAnswer = AnswerOf<'apiReader.get' | 'apiWriter.patch' | 'apiWriter.delete'>;

function answered(context: StatusManagerContext, uid: string, reply: StatusWriteAnswer, writes: StatusWrites, write: StatusWrite): void {
  const { state, turn } = context;
  const version = write.sending ?? 0;
  writes.active--;
  write.sending = null;
  write.wroteAt = turn.now;
  if (!reply.outcome.ok) {
    failed(context, uid, write, reply.op, reply.outcome.error);
    return;
  }
  writes.pause = 0;
  if (reply.op === 'apiWriter.delete') {
    write.deleted = true;
    return;
  }
  write.readFirst = false;
  write.answered = typedObject('pods', reply.outcome.value);
  if (reply.op === 'apiWriter.patch') sent(state, uid, write, version);
  else write.patched = null;
  // There may be a newer version, or nothing left but the deletion.
  queueStatusWrite(state, uid);
}

function sent(state: AgentView, uid: string, write: StatusWrite, version: number): void {
  write.sentVersion = Math.max(write.sentVersion, version);
  const record = state.statuses.get(uid);
  if (record === undefined || record.version !== version || record.changedAt === null) return;
  replaceRecord(state, uid, record, markSent(record, version));
}

/** A status from the same inputs is still valid. */
function replaceRecord(view: AgentView, uid: string, before: StatusRecord, after: StatusRecord): void {
  const { statuses, computed } = statusManagerState(view);
  statuses.set(uid, after);
  const from = computed.get(uid);
  if (from?.record === before) computed.set(uid, { ...from, record: after });
}

function failed(context: StatusManagerContext, uid: string, write: StatusWrite, op: string, error: PortFailure): void {
  const { state, turn } = context;
  // Deleted, or replaced by another pod: the watch will report it, and then no write is needed.
  if (error.kind === 'not-found' || (op === 'apiWriter.delete' && error.kind === 'aborted')) {
    if (op === 'apiWriter.delete') write.deleted = true;
    return;
  }
  write.patched = null;
  turn.log('warn', 'Failed to update status for pod', { podUID: uid, err: error.message });
  // A refusal leaves everything unchanged; after any other error the write may have happened. An invalid one was built on what the API no longer has:
  // another pod has the name, or a field has changed.
  if (!refusals.has(error.kind)) write.readFirst = true;
  if (passing.has(error.kind)) {
    pause(context, error.retryAfterMicros);
    queueStatusWrite(state, uid);
  } else turn.wakeAt(podAddress(uid), turn.now + (error.kind === 'aborted' ? shortestPause : repairPeriod));
}

const refusals: ReadonlySet<PortFailure['kind']> = new Set(['resource-exhausted', 'unauthenticated', 'permission-denied']);
const passing: ReadonlySet<PortFailure['kind']> = new Set(['unavailable', 'resource-exhausted', 'deadline-exceeded', 'unauthenticated']);

function pause({ state, turn }: StatusManagerContext, atLeast: Micros | null): void {
  const writes = state.api?.statusWrites;
  if (writes === undefined || (writes.pausedUntil !== null && writes.pausedUntil > turn.now)) return;
  writes.pause = nextPause(writes.pause, shortestPause, longestPause);
  const delay = Math.floor(writes.pause * (1 + 0.5 * turn.random('pause', 'status-writes')));
  writes.pausedUntil = turn.now + Math.max(delay, atLeast ?? 0);
  turn.wakeAt(pauseAddress, writes.pausedUntil);
}

/** The pod in the API for this one; null if absent. */
function watchedPod({ api, statuses, pods, workers }: AgentView, uid: string): Pod | null {
  const record = statuses.get(uid);
  if (record === undefined) return null;
  const found = cachedObject(api, 'pods', record.podNamespace, record.podName) as Pod | null;
  if (found === null || !isMirrorPod(found)) return found?.metadata.uid === uid ? found : null;
  const pod = pods.pods.get(uid) ?? workers.records.get(uid)?.active?.pod ?? null;
  const { annotations } = pod?.metadata ?? {};
  // A mirror of an earlier or later self of the pod shows that one.
  const isItsMirror = pod !== null && isStaticPod(pod) && found.metadata.annotations?.[configMirrorAnnotation] === annotations?.[configHashAnnotation];
  // A mirror with an end that the pod has not reached is replaced (see mirror-pods): no server lets a status leave its end.
  return isItsMirror && illegalTransition(pod, found.status ?? {}, record.status) === null ? found : null;
}

/** Drops the state of pods that no part knows any more. */
export function forgetStatusWrites(context: AgentContext, isKnown: (uid: string) => boolean): void {
  for (const uid of context.state.api?.statusWrites.pods.keys() ?? []) if (!isKnown(uid)) forgetStatusWrite(context, uid);
}

/** A write in flight is dropped with its answer. */
export function forgetStatusWrite(context: AgentContext, uid: string): void {
  const { state, turn } = asStatusManager(context);
  const writes = state.api?.statusWrites;
  if (writes === undefined || (writes.pods.get(uid)?.sending ?? null) !== null) return;
  writes.pods.delete(uid);
  writes.queue.delete(uid);
  turn.wakeAt(podAddress(uid), null);
}
