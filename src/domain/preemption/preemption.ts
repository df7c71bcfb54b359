// Preemption for a critical pod that lacks only resources: chooses the pods to kill.
// Invariant: the victims' requests cover the shortage, and the critical pod may preempt each of them.
import type { Pod } from '../../ports/model/pod.js';
import { podQosClass, type QosClass } from '../qos/qos-class.js';
import { resourceRequest } from '../qos/resource-request.js';
import { isCriticalPod, knownPriority } from '../values/pod-kind.js';
import { quantityMilliValue, quantityValue } from '../values/quantity.js';

/** Reason of the victim's status and of its event, type Warning. */
export const preemptingReason = 'Preempting';
export const preemptingMessage = 'Preempted in order to admit critical pod';
/** Message of the victim's DisruptionTarget condition. */
export const preemptedConditionMessage = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** An amount that must be freed: cpu in thousandths, `pods` in pods, anything else in whole units. */
export interface MissingAmount {
  readonly resource: string;
  readonly amount: bigint;
}

export type PreemptionResult =
  /** In kill order: BestEffort, Burstable, Guaranteed. */
  { readonly ok: true; readonly victims: readonly Pod[] } | { readonly ok: false; readonly error: string };

/** A pod with its requests of the missing resources, computed once: the choice compares each pod many times. */
interface Candidate {
  readonly pod: Pod;
  readonly requests: readonly bigint[];
  /** The same as doubles, which distances are measured in. */
  readonly sizes: readonly number[];
  readonly memory: bigint;
  readonly cpu: bigint;
}

/** The missing amounts, by the position in the list; 0 and below is met. */
type Missing = readonly bigint[];

/** Whether a pod may be killed for another: a critical one may take from all that aren't, any other only from lower priorities. */
export function isPreemptable(preemptor: Pod, victim: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(victim)) return true;
  const [priority, other] = [knownPriority(preemptor), knownPriority(victim)];
  return priority !== undefined && other !== undefined && priority > other;
}

/**
 * The fewest and least important victims, as good as a greedy choice gets. Guaranteed pods are only taken for what all others together
 * can't give, Burstable ones for what BestEffort pods can't.
 * @param pods active ones; their order decides among equals
 */
export function podsToPreempt(pod: Pod, pods: readonly Pod[], missing: readonly MissingAmount[]): PreemptionResult {
  const classes: Record<QosClass, Candidate[]> = { BestEffort: [], Burstable: [], Guaranteed: [] };
  for (const other of pods) if (isPreemptable(pod, other)) classes[podQosClass(other)].push(candidateOf(other, missing));
  const { BestEffort, Burstable, Guaranteed } = classes;
  const needed = missing.map(({ amount }) => amount);
  const short = without(without(without(needed, BestEffort), Burstable), Guaranteed);
  if (!isCovered(short))
    return { ok: false, error: `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: ${shown(short, missing)}` };
  const guaranteed = pick(Guaranteed, without(without(needed, BestEffort), Burstable));
  const burstable = pick(Burstable, without(without(needed, BestEffort), guaranteed));
  const bestEffort = pick(BestEffort, without(without(needed, burstable), guaranteed));
  return { ok: true, victims: [...bestEffort, ...burstable, ...guaranteed].map((candidate) => candidate.pod) };
}

function candidateOf(pod: Pod, missing: readonly MissingAmount[]): Candidate {
  const memory = requested(pod, 'memory');
  const cpu = requested(pod, 'cpu');
  const requests = missing.map(({ resource }) => (resource === 'memory' ? memory : resource === 'cpu' ? cpu : requested(pod, resource)));
  return { pod, requests, sizes: requests.map(Number), memory, cpu };
}

function requested(pod: Pod, resource: string): bigint {
  if (resource === 'pods') return 1n;
  const request = resourceRequest(pod, resource);
  return resource === 'cpu' ? quantityMilliValue(request) : quantityValue(request);
}

function without(missing: Missing, candidates: readonly Candidate[]): Missing {
  return missing.map((amount, i) => {
    let left = amount;
    for (const { requests } of candidates) left -= requests[i] as bigint;
    return left;
  });
}

function isCovered(missing: Missing): boolean {
  return missing.every((amount) => amount <= 0n);
}

/** Each choice changes the remaining shortage, so all are compared again: pods times victims. */
function pick(candidates: readonly Candidate[], needed: Missing): Candidate[] {
  const left = [...candidates];
  const picked: Candidate[] = [];
  let missing = needed;
  while (!isCovered(missing) && left.length > 0) {
    const best = closestIndex(left, missing);
    const chosen = left[best] as Candidate;
    picked.push(chosen);
    missing = without(missing, [chosen]);
    const last = left.pop() as Candidate;
    if (last !== chosen) left[best] = last;
  }
  return picked;
}

/** Of equally close ones the smallest, of equally small ones the last. */
function closestIndex(candidates: readonly Candidate[], missing: Missing): number {
  const needs = missing.map(Number);
  let best = 0;
  let bestDistance = Infinity;
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i] as Candidate;
    const distance = distanceOf(candidate, needs);
    if (distance < bestDistance || (distance === bestDistance && isAtMostAsLarge(candidate, candidates[best] as Candidate))) {
      best = i;
      bestDistance = distance;
    }
  }
  return best;
}

/** How much of each need a pod would leave open, as a fraction, squared: each resource weighs the same. */
function distanceOf({ sizes }: Candidate, needs: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < needs.length; i++) {
    const needed = needs[i] as number;
    const left = needed - (sizes[i] as number);
    if (needed > 0 && left > 0) sum += (left / needed) ** 2;
  }
  return sum;
}

function isAtMostAsLarge(a: Candidate, b: Candidate): boolean {
  return a.memory === b.memory ? a.cpu <= b.cpu : a.memory < b.memory;
}

function shown(amounts: Missing, missing: readonly MissingAmount[]): string {
  const open = amounts.flatMap((amount, i) => (amount > 0n ? [`(res: ${missing[i]?.resource}, q: ${amount}), `] : []));
  return `[${open.join('')}]`;
}
