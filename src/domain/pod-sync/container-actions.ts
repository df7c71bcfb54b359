// Shared by the actions on regular and init containers: compare with the spec, kill, resize.
import type { Container } from '../../ports/model/container.js';
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import { containerHash } from '../values/container-hash.js';
import { decideResize, queueUpdate } from './container-resize.js';
import type { KillReason } from './kill-grace.js';
import type { PodActionsDraft, PodActionsInput } from './pod-actions-types.js';

/** Whether the container was made from another definition. A missing or unreadable hash counts as one. */
export function isContainerChanged(container: Container, status: RuntimeContainerStatus): boolean {
  if (status.hash === containerHash(container)) return false;
  return !/^[0-9a-f]{1,16}$/i.test(status.hash) || status.hash.toLowerCase().replace(/^0+(?=.)/, '') !== containerHash(container);
}

export function killContainer(draft: PodActionsDraft, status: RuntimeContainerStatus, message: string, reason: KillReason): void {
  draft.containersToKill.set(status.id, { id: status.id, name: status.name, message, reason });
}

/** Queues the resize of a running container, or its kill when it can't be resized in place; then the caller has to start it again. */
export function resizeContainer(draft: PodActionsDraft, input: PodActionsInput, container: Container, status: RuntimeContainerStatus): 'kept' | 'restart' {
  const decision = decideResize(input.pod, container, status.id, input.actuated);
  if (decision.kind === 'none') return 'kept';
  if (decision.kind === 'restart') {
    killContainer(draft, status, `Container ${container.name} resize requires restart`, '');
    draft.updatePodResources = true;
    return 'restart';
  }
  if (decision.memory !== null) queueUpdate(draft.containersToUpdate.memory, decision.update, decision.memory);
  if (decision.cpu !== null) queueUpdate(draft.containersToUpdate.cpu, decision.update, decision.cpu);
  return 'kept';
}
