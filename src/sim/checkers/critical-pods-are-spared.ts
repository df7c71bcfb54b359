// No critical pod is evicted, and none is refused for the node's pressure.
import { evictedReason } from '../../domain/eviction/eviction.js';
import { isCriticalPod } from '../../domain/values/pod-kind.js';
import type { Checker } from './checker.js';

export const criticalPodsAreSpared: Checker<null> = {
  name: 'critical-pods-are-spared',
  fresh: () => null,
  look(_memory, what, { agent }, report) {
    if (what.kind !== 'command' || what.command.op !== 'events.record') return;
    const { involvedObject, reason, message } = what.command.request;
    const pod = reason === evictedReason ? agent.pods.pods.get(involvedObject.uid ?? '') : undefined;
    if (pod !== undefined && isCriticalPod(pod)) report(`the critical pod ${involvedObject.namespace}/${involvedObject.name} is evicted: ${message}`);
  },
};
