// Groups of a node shutdown, and the status of a pod that it ends.
import {
  groupPods,
  type ShutdownConfiguration,
  shutdownGracePeriodSeconds,
  shutdownPriorities,
  shutdownStatus,
  totalShutdownSeconds,
} from '../../../src/domain/node-shutdown/shutdown-groups.js';
import { formatDuration, nanosPerSecond, parseDuration } from '../../../src/domain/values/go-duration.js';
import { byCodeUnits } from '../../../src/domain/values/text-order.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodPhase } from '../../../src/ports/model/pod-status.js';
import type { VectorDriver } from '../driver.js';

interface Groups {
  readonly op: 'groups';
  readonly shutdownGracePeriod: string;
  readonly shutdownGracePeriodCriticalPods: string;
  readonly shutdownGracePeriodByPodPriority: ShutdownConfiguration['shutdownGracePeriodByPodPriority'];
  readonly pods: readonly Pod[];
}

function nanos(text: string): number {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

export const driver: VectorDriver = {
  run(input: Groups | { readonly op: 'status'; readonly phase: PodPhase }) {
    if (input.op === 'status') return shutdownStatus(input.phase);
    const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority, pods } = input;
    const priorities = shutdownPriorities({
      shutdownGracePeriod: nanos(shutdownGracePeriod),
      shutdownGracePeriodCriticalPods: nanos(shutdownGracePeriodCriticalPods),
      shutdownGracePeriodByPodPriority,
    });
    if (priorities.length === 0) return { enabled: false };
    return {
      enabled: true,
      totalGracePeriod: formatDuration(totalShutdownSeconds(priorities) * nanosPerSecond),
      groups: groupPods(priorities, pods).map(({ pods: members, ...group }) => ({
        ...group,
        pods: members.map((pod) => ({ pod: pod.metadata.name, gracePeriodSeconds: shutdownGracePeriodSeconds(pod, group) })).sort((a, b) => byCodeUnits(a.pod, b.pod)),
      })),
    };
  },
};
