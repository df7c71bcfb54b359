// Refuses new pods while the node is under pressure. Memory pressure alone refuses only pods without requests, since others have reserved memory.
import type { Pod } from '../../ports/model/pod.js';
import { evictedReason } from '../eviction/eviction.js';
import type { PressureCondition } from '../eviction/signals.js';
import { podQosClass } from '../qos/qos-class.js';
import { goList } from '../values/go-text.js';
import { isCriticalPod } from '../values/pod-kind.js';
import { toleratesTaint } from '../values/tolerations.js';
import { type Admission, admitted, rejected } from './admission-result.js';

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

export function admitUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): Admission {
  if (conditions.length === 0 || isCriticalPod(pod)) return admitted;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQosClass(pod) !== 'BestEffort') return admitted;
    if (pod.spec.tolerations?.some((toleration) => toleratesTaint(toleration, memoryPressureTaint)) === true) return admitted;
  }
  return rejected(evictedReason, `The node had condition: ${goList(conditions)}. `);
}
