// Garbage collection in the runtime, as a chain of looks and removals: containers, then the sandboxes that they leave, then logs.
//
//   idle -> listContainers -> removeContainers (each after its logs) -> listSandboxes -> removeSandboxes -> logs -> idle
//
// Each list is decided from a look of its own, since what really went decides what may go next. Runs at most once a minute, and only
// after something died or went.
import type { Micros } from '../../ports/micros.js';
import type { ListedPod } from '../../ports/model/runtime-listing.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type ContainerGcContext, containersToCollect, logDirectoriesToCollect, sandboxesToCollect } from '../gc/container-gc.js';
import type { Reply, ReplyFor } from '../kernel/machine.js';
import { areAllSourcesReady } from '../pod-sources/pod-config.js';
import { shouldPodContentBeRemoved, shouldPodRuntimeBeRemoved } from '../pod-workers/queries.js';
import type { AgentContext } from './agent-context.js';
import { logFilesOf } from './container-log-files.js';
import { isBeingRotated } from './log-rotation.js';
import { loopProblem } from './sync-loop.js';

export const collectionAddress = { machine: 'collection', key: '' } as const;
const period: Micros = 60_000_000;

/** Plans the next round if something asks for one. */
export function planCollection(context: AgentContext): void {
  const { collection } = context.state;
  if (collection.phase !== 'idle' || collection.planned || !collection.dirty) return;
  // Planned once: what dies meanwhile does not put it off.
  collection.planned = true;
  context.turn.wakeAt(collectionAddress, context.turn.now + period);
}

export function beginCollection(context: AgentContext): void {
  const { collection } = context.state;
  if (collection.phase !== 'idle') return;
  collection.planned = false;
  if (loopProblem(context) !== null) return;
  collection.dirty = false;
  list(context, 'listContainers');
}

export function collectionReplied(context: AgentContext, reply: Reply<AgentOperations>): void {
  const { collection } = context.state;
  if (reply.op === 'runtime.listPods') {
    listed(context, reply);
    return;
  }
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
  if (reply.op === 'containers.stop' && reply.outcome.ok) removeLogs(context, reply.slot.slice('stop/'.length));
  if (reply.op === 'podLogs.removeContainerLogs' && reply.outcome.ok) removeContainer(context, reply.slot.slice('files/'.length));
  if (collection.outstanding === 0) advance(context);
}

function advance(context: AgentContext): void {
  const { collection } = context.state;
  if (collection.phase === 'removeContainers') list(context, 'listSandboxes');
  else if (collection.phase === 'removeSandboxes') {
    collection.phase = 'logs';
    ask(context, () => context.turn.ask('podLogs.listDirectories', collectionAddress, 'logs', null));
    ask(context, () => context.turn.ask('podLogs.removeDeadLinks', collectionAddress, 'links', null));
  } else if (collection.phase === 'logs') collection.phase = 'idle';
}

function list(context: AgentContext, phase: 'listContainers' | 'listSandboxes'): void {
  context.state.collection.phase = phase;
  context.turn.ask('runtime.listPods', collectionAddress, 'list', { uid: null }, context.state.settings.runtimeRequestTimeout);
}

function listed(context: AgentContext, reply: ReplyFor<AgentOperations, 'runtime.listPods'>): void {
  const { collection } = context.state;
  if (!reply.outcome.ok) {
    context.turn.log('warn', 'Container garbage collection failed', { err: reply.outcome.error.message });
    context.nodeWarning('ContainerGCFailed', reply.outcome.error.message);
    collection.phase = 'idle';
    collection.dirty = true;
    return;
  }
  const { pods } = reply.outcome.value;
  if (collection.phase === 'listContainers') removeContainers(context, pods);
  else removeSandboxes(context, pods);
  if (collection.outstanding === 0) advance(context);
}

function removeContainers(context: AgentContext, pods: readonly ListedPod[]): void {
  const { state, turn } = context;
  state.collection.phase = 'removeContainers';
  for (const { id, stopFirst } of containersToCollect(pods, state.settings.containerGc, gcContext(context), turn.now)) {
    if (stopFirst)
      ask(context, () => turn.ask('containers.stop', collectionAddress, `stop/${id}`, { containerId: id, gracePeriodSeconds: 2 }, state.settings.runtimeRequestTimeout));
    else removeLogs(context, id);
  }
}

function removeSandboxes(context: AgentContext, pods: readonly ListedPod[]): void {
  const { state, turn } = context;
  state.collection.phase = 'removeSandboxes';
  for (const sandboxId of sandboxesToCollect(pods, gcContext(context))) {
    ask(context, () => turn.ask('sandboxes.stop', collectionAddress, `stop/${sandboxId}`, { sandboxId }, state.settings.runtimeRequestTimeout));
  }
}

/** The logs go first, and a container whose logs can't go stays: without it they would be nobody's. */
function removeLogs(context: AgentContext, containerId: string): void {
  const { state, turn } = context;
  const files = isBeingRotated(context, containerId) ? null : logFiles(context, containerId);
  if (files === null) {
    state.collection.dirty = true;
    return;
  }
  ask(context, () => turn.ask('podLogs.removeContainerLogs', collectionAddress, `files/${containerId}`, files));
}

/** null: which log is the container's is not known yet. */
function logFiles({ state }: AgentContext, containerId: string) {
  for (const { cached } of state.cache.entries.values()) {
    const container = cached.kind === 'status' ? cached.status.containers.find(({ id }) => id === containerId) : undefined;
    if (cached.kind === 'status' && container !== undefined) return logFilesOf(state.settings, cached.status, container);
  }
  return null;
}

function removeContainer(context: AgentContext, containerId: string): void {
  ask(context, () => context.turn.ask('containers.remove', collectionAddress, `remove/${containerId}`, { containerId }, context.state.settings.runtimeRequestTimeout));
}

function removeSandbox(context: AgentContext, sandboxId: string): void {
  ask(context, () => context.turn.ask('sandboxes.remove', collectionAddress, `remove/${sandboxId}`, { sandboxId }, context.state.settings.runtimeRequestTimeout));
}

function ask(context: AgentContext, send: () => void): void {
  context.state.collection.outstanding++;
  send();
}

function gcContext(context: AgentContext): ContainerGcContext {
  const { workers, config } = context.state;
  return {
    allSourcesReady: areAllSourcesReady(config),
    removeForTerminatedPods: false,
    podState: (uid) => {
      if (shouldPodContentBeRemoved(workers, uid)) return 'removed';
      return shouldPodRuntimeBeRemoved(workers, uid) ? 'terminated' : 'running';
    },
  };
}
