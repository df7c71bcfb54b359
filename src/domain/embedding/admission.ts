// Admission and preemption for embedders: whether a node admits a pod, and which pods it preempts.
import type { Pod } from '../../ports/model/pod.js';
import type { Admission } from '../admission/admission-result.js';
import { admitByPredicates, type PredicateInput, type PredicateResult } from '../admission/predicates.js';
import { admitUnderPressure as admitUnderPressureOf } from '../admission/pressure-gate.js';
import type { PressureCondition } from '../eviction/signals.js';
import { type MissingAmount, type PreemptionResult, podsToPreempt as podsToPreemptOf } from '../preemption/preemption.js';
import { nodeShape, podShape, podsShape } from './api-object-shapes.js';
import { bigInteger, checkArgument, listOf, mapOf, measured, nullable, oneOf, recordOf, text } from './shape.js';

const inputShape = recordOf({ pod: podShape, otherPods: podsShape, node: nullable(nodeShape) }, { freshNode: nullable(nodeShape), allocatedDevices: mapOf(measured) });
const missingShape = listOf(recordOf({ resource: text, amount: bigInteger }));
const conditionsShape = listOf(oneOf(['MemoryPressure', 'DiskPressure', 'PIDPressure']));

/**
 * Whether a node admits a pod, by the kubelet's own predicates: resources, node affinity, name, host ports, taints, operating system.
 * A critical pod that lacks only resources is admitted with a list of victims.
 * @param input the pod, the node, and the other active pods on it; amounts as in the API
 * @returns the verdict; a refusal has the reason and the message that the kubelet puts into the pod's status
 * @throws AssertionFailed where a field of `input` has another type
 */
export function admitPod(input: PredicateInput): PredicateResult {
  checkArgument('input', input, inputShape);
  return admitByPredicates(input);
}

/**
 * Whether a node under pressure admits a pod: under memory pressure alone, those with requests or a toleration; critical ones always.
 * @throws AssertionFailed where an argument has another type
 */
export function admitUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): Admission {
  checkArgument('pod', pod, podShape);
  checkArgument('conditions', conditions, conditionsShape);
  return admitUnderPressureOf(pod, conditions);
}

/**
 * Which pods a node kills to make room for a critical one: as few and as unimportant as a greedy choice gets, best effort first.
 * @param pods the active ones; their order decides among equals
 * @param missing amounts to free: cpu in thousandths, `pods` in pods, anything else in whole units
 * @returns the victims in the order of their kills, or why all of them together aren't enough
 * @throws AssertionFailed where an argument has another type
 */
export function podsToPreempt(pod: Pod, pods: readonly Pod[], missing: readonly MissingAmount[]): PreemptionResult {
  checkArgument('pod', pod, podShape);
  checkArgument('pods', pods, podsShape);
  checkArgument('missing', missing, missingShape);
  return podsToPreemptOf(pod, pods, missing);
}
