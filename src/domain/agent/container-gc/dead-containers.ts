// Removes the leftovers of a crash loop at once, so that they do not fill the node between two rounds of collection.

import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import { allDeadContainers, deadContainerQueueCapacity, deadContainersAfterDeath } from '../../gc/dead-containers.js';
import { assert } from '../../kernel/assert.js';
import { readPodCache } from '../../pod-cache/pod-cache.js';
import { shouldPodContentBeRemoved } from '../../pod-workers/queries.js';
import type { AgentContext } from '../agent-context.js';
import { logFilesOf } from '../container-log-manager/container-log-files.js';
import { isBeingRotated } from '../container-log-manager/log-rotation.js';
import type { AnswerOf } from '../part.js';
import { asContainerGC, type ContainerGCContext } from './slice.js';

export const deletorAddress = { machine: 'deletor', key: '' } as const;

export function collectAfterDeath(caller: AgentContext, uid: string, containerId: string): void {
  const context = asContainerGC(caller);
  const { workers, settings } = context.state;
  const mayGo = shouldPodContentBeRemoved(workers, uid);
  collect(context, uid, (status) => (mayGo ? allDeadContainers(status) : deadContainersAfterDeath(status, containerId, settings.containerGc.maxPerPodContainer)));
}

/** Removes all of a pod's ended containers. */
export function removeDeadContainers(caller: AgentContext, uid: string): void {
  const context = asContainerGC(caller);
  collect(context, uid, allDeadContainers);
}

function collect(context: ContainerGCContext, uid: string, choose: (status: PodRuntimeStatus) => readonly string[]): void {
  const { state, turn } = context;
  const cached = readPodCache(state.cache, uid);
  if (cached.kind !== 'status') return;
  const { status } = cached;
  const ids = new Set(choose(status));
  for (const container of status.containers) {
    if (!ids.has(container.id) || state.deleting.has(container.id) || state.deleting.size >= deadContainerQueueCapacity) continue;
    // Its turn comes at the next collection.
    if (isBeingRotated(context, container.id)) continue;
    state.deleting.add(container.id);
    turn.ask('podLogs.removeContainerLogs', deletorAddress, `logs/${container.id}`, logFilesOf(state.settings, status, container));
  }
}

/** Logs first: those of a removed container would have no owner. */
export function deadLogsRemoved(context: ContainerGCContext, { slot, outcome }: AnswerOf<'podLogs.removeContainerLogs'>): void {
  const { state, turn } = context;
  const containerId = slot.slice('logs/'.length);
  if (outcome.ok) turn.ask('containers.remove', deletorAddress, `remove/${containerId}`, { containerId }, state.settings.runtimeRequestTimeout);
  else removalEnded(context, containerId, outcome.error.message);
}

export function deadContainerRemoved(context: ContainerGCContext, { slot, outcome }: AnswerOf<'containers.remove'>): void {
  removalEnded(context, slot.slice('remove/'.length), outcome.ok ? null : outcome.error.message);
}

function removalEnded({ state, turn }: ContainerGCContext, containerId: string, err: string | null): void {
  assert(state.deleting.has(containerId), 'a container was removed that is not being removed', containerId);
  if (err !== null) turn.log('warn', 'Failed to remove a dead container', { containerID: containerId, err });
  state.deleting.delete(containerId);
}
