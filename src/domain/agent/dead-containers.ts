// Removes what a crash loop leaves behind at once, so that it does not fill the node between two rounds of collection.
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { allDeadContainers, deadContainerQueueCapacity, deadContainersAfterDeath } from '../gc/dead-containers.js';
import { readPodCache } from '../pod-cache/pod-cache.js';
import { shouldPodContentBeRemoved } from '../pod-workers/queries.js';
import type { AgentContext } from './agent-context.js';

export const deletorAddress = { machine: 'deletor', key: '' } as const;

export function collectAfterDeath(context: AgentContext, uid: string, containerId: string): void {
  const { state, turn } = context;
  const cached = readPodCache(state.cache, uid);
  if (cached.kind !== 'status') return;
  const { status } = cached;
  const mayGo = shouldPodContentBeRemoved(state.workers, uid);
  const ids = new Set(mayGo ? allDeadContainers(status) : deadContainersAfterDeath(status, containerId, state.settings.containerGc.maxPerPodContainer));
  for (const container of status.containers) {
    const slot = `remove/${container.id}`;
    if (!ids.has(container.id) || turn.inFlight(deletorAddress, slot) || state.deleting.size >= deadContainerQueueCapacity) continue;
    state.deleting.add(container.id);
    removeLogs(context, status.namespace, status.name, uid, container);
    turn.ask('containers.remove', deletorAddress, slot, { containerId: container.id }, state.settings.runtimeRequestTimeout);
  }
}

export function deletorReplied(context: AgentContext, slot: string): void {
  context.state.deleting.delete(slot.slice('remove/'.length));
}

function removeLogs(context: AgentContext, namespace: string, name: string, uid: string, container: RuntimeContainerStatus): void {
  const { podLogsDirectory, containerLogLinks } = context.settings;
  const path = `${podLogsDirectory}/${namespace}_${name}_${uid}/${container.name}/${container.restartCount}.log`;
  const links = containerLogLinks === null ? [] : [`${containerLogLinks}/${name}_${namespace}_${container.name}-${container.id}.log`];
  context.turn.tell('podLogs.removeContainerLogs', { logPaths: [path], links });
}
