// Restarts all containers of a pod in place (KEP-5532): removes every instance from the runtime, in an order that keeps the cause visible.
// Invariant: the container whose exit requested the restart is removed last, so that a kubelet that dies in between still finds the exit.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { triggersRestartAll } from '../status/restart-rules.js';

export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  /** Kill it before its removal. */
  readonly kill: boolean;
}

/** Regular containers, then init containers; then the same for those that requested the restart. */
export function containersToReset(pod: Pod, status: PodRuntimeStatus): ContainerToReset[] {
  const first: ContainerToReset[] = [];
  const last: ContainerToReset[] = [];
  const add = (containers: readonly Container[]): void => {
    for (const container of containers) {
      for (const instance of status.containers) {
        if (instance.name !== container.name) continue;
        const exited = instance.state === 'exited';
        const asked = exited && triggersRestartAll(container, instance.exitCode);
        (asked ? last : first).push({ id: instance.id, name: instance.name, kill: !exited });
      }
    }
  };
  add(pod.spec.containers);
  add(pod.spec.initContainers ?? []);
  return [...first, ...last];
}
