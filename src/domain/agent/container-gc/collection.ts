// Garbage collection in the runtime, as a chain of listings and removals: containers, then their sandboxes, then logs.
//
//   idle -> listContainers -> removeContainers (each after its logs) -> listSandboxes -> removeSandboxes -> logs -> idle
//
// Each stage decides from a listing of its own, since the actual removals determine what can be removed next. Runs at most once a minute, and only
// after a container or pod ended or was removed.

import type { Micros } from '../../../ports/micros.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import { type ContainerGcContext, containersToCollect, logDirectoriesToCollect, sandboxesToCollect } from '../../gc/container-gc.js';
import { assert } from '../../kernel/assert.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import { shouldPodContentBeRemoved, shouldPodRuntimeBeRemoved } from '../../pod-workers/queries.js';
import { momentOf } from '../../values/instant.js';
import type { AgentContext } from '../agent-context.js';
import { logFilesOf } from '../container-log-manager/container-log-files.js';
import { isBeingRotated } from '../container-log-manager/log-rotation.js';
import type { AnswerOf } from '../part.js';
import { loopProblem } from '../sync-loop/sync-loop.js';
import { asContainerGC, type ContainerGCContext } from './slice.js';

export const collectionAddress = { machine: 'collection', key: '' } as const;
const period: Micros = 60_000_000;
/** Containers or sandboxes that go side by side; more wait. */
const maxRemovals = 16;

/** Plans the next round if needed. */
export function planCollection(context: ContainerGCContext): void {
  const { collection } = context.state;
  if (collection.phase !== 'idle' || collection.planned || !collection.dirty) return;
  // Planned once: what dies meanwhile does not put it off.
  collection.planned = true;
  context.turn.wakeAt(collectionAddress, context.turn.now + period);
}

/** Requests a round that includes ended pods' remains, now or after the one in progress. `pressed` shows when it is done. */
export function requestContainerGc(caller: AgentContext): void {
  const context = asContainerGC(caller);
  context.state.collection.pressed = 'wanted';
  beginPressed(context);
}

function beginPressed(context: ContainerGCContext): void {
  const { collection } = context.state;
  if (collection.phase !== 'idle' || collection.pressed !== 'wanted') return;
  const problem = loopProblem(context);
  if (problem !== null) {
    context.turn.log('warn', 'Container garbage collection failed', { err: problem });
    collection.pressed = 'done';
    return;
  }
  collection.pressed = 'on';
  list(context, 'listContainers');
}

/** A round has ended, with any result. */
function end(context: ContainerGCContext): void {
  const { collection } = context.state;
  assert(collection.outstanding === 0 && collection.waiting.length === 0, 'a round of container collection ends before its removals', collection.phase);
  collection.phase = 'idle';
  if (collection.pressed === 'on') collection.pressed = 'done';
  beginPressed(context);
}

export function beginCollection(context: ContainerGCContext): void {
  const { collection } = context.state;
  collection.planned = false;
  // The eviction loop's round is on: the next one is planned when it ends.
  if (collection.phase !== 'idle') return;
  if (loopProblem(context) !== null) return;
  collection.dirty = false;
  list(context, 'listContainers');
}

export const collectionOperations = [
  'runtime.listPods',
  'podLogs.listDirectories',
  'podLogs.removeDeadLinks',
  'podLogs.removeDirectory',
  'podLogs.removeContainerLogs',
  'sandboxes.stop',
  'sandboxes.remove',
  'containers.stop',
  'containers.remove',
] as const;

export function collectionReplied(context: ContainerGCContext, reply: AnswerOf<(typeof collectionOperations)[number]>): void {
  const { collection } = context.state;
  if (reply.op === 'runtime.listPods') {
    listed(context, reply);
    return;
  }
  assert(collection.outstanding > 0, 'an answer came for a collection that does not wait for one', reply.slot);
  collection.outstanding--;
  if (!reply.outcome.ok) {
    context.turn.log('warn', 'Container garbage collection failed', { err: reply.outcome.error.message, subject: reply.slot });
    if (reply.op === 'podLogs.listDirectories') context.nodeWarning('ContainerGCFailed', reply.outcome.error.message);
    collection.dirty = true;
  }
  if (collection.phase === 'logs' && reply.op === 'podLogs.listDirectories' && reply.outcome.ok) {
    for (const name of logDirectoriesToCollect(reply.outcome.value, gcContext(context)))
      ask(context, () => context.turn.ask('podLogs.removeDirectory', collectionAddress, `logs/${name}`, { name }));
  }
  if (reply.op === 'sandboxes.stop' && reply.outcome.ok) removeSandbox(context, reply.slot.slice('stop/'.length));
  if (reply.op === 'containers.stop' && reply.outcome.ok) removeLogs(context, reply.slot.slice('stop/'.length), null);
  if (reply.op === 'podLogs.removeContainerLogs' && reply.outcome.ok) removeContainer(context, reply.slot.slice('files/'.length));
  beginRemovals(context);
  if (collection.outstanding === 0) advance(context);
}

function advance(context: ContainerGCContext): void {
  const { collection } = context.state;
  if (collection.phase === 'removeContainers') list(context, 'listSandboxes');
  else if (collection.phase === 'removeSandboxes') {
    collection.phase = 'logs';
    ask(context, () => context.turn.ask('podLogs.listDirectories', collectionAddress, 'logs', null));
    ask(context, () => context.turn.ask('podLogs.removeDeadLinks', collectionAddress, 'links', null));
  } else if (collection.phase === 'logs') end(context);
}

function list(context: ContainerGCContext, phase: 'listContainers' | 'listSandboxes'): void {
  assert(context.state.collection.outstanding === 0, 'pods are listed for container collection before its removals have ended', phase);
  context.state.collection.phase = phase;
  context.turn.ask('runtime.listPods', collectionAddress, 'list', { uid: null }, context.state.settings.runtimeRequestTimeout);
}

function listed(context: ContainerGCContext, reply: AnswerOf<'runtime.listPods'>): void {
  const { collection } = context.state;
  assert(collection.phase === 'listContainers' || collection.phase === 'listSandboxes', 'pods were listed that container collection does not wait for', collection.phase);
  if (!reply.outcome.ok) {
    context.turn.log('warn', 'Container garbage collection failed', { err: reply.outcome.error.message });
    context.nodeWarning('ContainerGCFailed', reply.outcome.error.message);
    collection.dirty = true;
    end(context);
    return;
  }
  const { pods } = reply.outcome.value;
  if (collection.phase === 'listContainers') removeContainers(context, pods);
  else removeSandboxes(context, pods);
  beginRemovals(context);
  if (collection.outstanding === 0) advance(context);
}

function removeContainers(context: ContainerGCContext, pods: readonly ListedPod[]): void {
  const { state } = context;
  const { collection } = state;
  assert(collection.waiting.length === 0, 'containers of an earlier round wait for their removal');
  collection.phase = 'removeContainers';
  const collected = containersToCollect(pods, state.settings.containerGc, gcContext(context));
  if (collected.length === 0) return;
  const podUids = new Map(pods.flatMap(({ uid, containers }) => containers.map(({ id }) => [id, uid] as const)));
  for (const { id, stopFirst } of collected) collection.waiting.push({ kind: 'container', id, podUid: podUids.get(id) ?? '', stopFirst });
}

function removeSandboxes(context: ContainerGCContext, pods: readonly ListedPod[]): void {
  const { collection } = context.state;
  assert(collection.waiting.length === 0, 'sandboxes are collected before containers are removed');
  collection.phase = 'removeSandboxes';
  for (const id of sandboxesToCollect(pods, gcContext(context))) collection.waiting.push({ kind: 'sandbox', id });
}

/** Removals may be hundreds: a few at a time, so that starting pods needn't wait for them. */
function beginRemovals(context: ContainerGCContext): void {
  const { state, turn } = context;
  const { collection, settings } = state;
  while (collection.outstanding < maxRemovals) {
    const item = collection.waiting.shift();
    if (item === undefined) return;
    const { id } = item;
    if (item.kind === 'sandbox') ask(context, () => turn.ask('sandboxes.stop', collectionAddress, `stop/${id}`, { sandboxId: id }, settings.runtimeRequestTimeout));
    else if (!item.stopFirst) removeLogs(context, id, item.podUid);
    else ask(context, () => turn.ask('containers.stop', collectionAddress, `stop/${id}`, { containerId: id, gracePeriodSeconds: 2 }, settings.runtimeRequestTimeout));
  }
}

/** Removes the logs first, and keeps the container if that fails: otherwise they would have no owner. @param podUid null: not known yet */
function removeLogs(context: ContainerGCContext, containerId: string, podUid: string | null): void {
  const { state, turn } = context;
  const files = isBeingRotated(context, containerId) ? null : logFiles(context, containerId, podUid);
  if (files === null) {
    state.collection.dirty = true;
    return;
  }
  ask(context, () => turn.ask('podLogs.removeContainerLogs', collectionAddress, `files/${containerId}`, files));
}

/** null: which log is the container's is not known yet. */
function logFiles({ state: { cache, settings } }: ContainerGCContext, containerId: string, podUid: string | null) {
  for (const uid of podUid === null ? cache.entries.keys() : [podUid]) {
    const cached = cache.entries.get(uid)?.cached;
    const container = cached?.kind === 'status' ? cached.status.containers.find(({ id }) => id === containerId) : undefined;
    if (cached?.kind === 'status' && container !== undefined) return logFilesOf(settings, cached.status, container);
  }
  return null;
}

function removeContainer(context: ContainerGCContext, containerId: string): void {
  ask(context, () => context.turn.ask('containers.remove', collectionAddress, `remove/${containerId}`, { containerId }, context.state.settings.runtimeRequestTimeout));
}

function removeSandbox(context: ContainerGCContext, sandboxId: string): void {
  ask(context, () => context.turn.ask('sandboxes.remove', collectionAddress, `remove/${sandboxId}`, { sandboxId }, context.state.settings.runtimeRequestTimeout));
}

function ask(context: ContainerGCContext, send: () => void): void {
  context.state.collection.outstanding++;
  send();
}

function gcContext(context: ContainerGCContext): ContainerGcContext {
  const { workers, config, collection } = context.state;
  return {
    allSourcesReady: areAllSourcesReady(config),
    removeForTerminatedPods: collection.pressed === 'on',
    ageOf: (uid, { id, createdAt }) => {
      const known = context.state.cache.moments.get(uid)?.get(id);
      return context.turn.now - (known?.createdAt ?? momentOf(createdAt, context.turn, context.state.cache.observedBefore));
    },
    podState: (uid) => {
      if (shouldPodContentBeRemoved(workers, uid)) return 'removed';
      return shouldPodRuntimeBeRemoved(workers, uid) ? 'terminated' : 'running';
    },
  };
}
