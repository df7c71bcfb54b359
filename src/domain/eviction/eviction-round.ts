// One run of the eviction loop, in the three steps between its measurements:
//
//   beginRound      measure the node; decide to do nothing, to evict for local limits, or to reclaim
//   isRelieved      after the reclaim calls, with a new measurement: was that enough?
//   chooseVictim    if not, the one pod to evict
//
// The loop runs again ten seconds after a run ends, or at once when the run's evicted pods are gone.
// Invariant: a run evicts either for local limits or for pressure, and for pressure one pod at most.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats } from '../../ports/model/stats-summary.js';
import { isCriticalPod } from '../values/pod-kind.js';
import { disruptionCondition, type Eviction, immediateGracePeriodSeconds } from './eviction.js';
import { evictionMessage } from './eviction-message.js';
import { localStorageEvictions } from './local-storage.js';
import type { SignalObservations } from './observations.js';
import { actionableThresholds, isResolved, observePressure, type PressureState } from './pressure.js';
import { rankPodsForEviction } from './ranking.js';
import { type EvictionSignal, type FileSystemLayout, isMemorySignal, starvedResource } from './signals.js';
import { type EvictionThreshold, isHard } from './thresholds.js';

export interface EvictionPolicy {
  readonly pressureTransitionPeriod: Micros;
  /** Upper bound for pods that soft thresholds evict. */
  readonly maxPodGracePeriodSeconds: number;
  readonly localStorageCapacityIsolation: boolean;
  readonly layout: FileSystemLayout;
}

/** `containers`: those of terminated pods; `images`: unused ones. */
export type ReclaimCall = 'containers' | 'images';

export interface ReclaimPlan {
  readonly kind: 'reclaim';
  readonly threshold: EvictionThreshold;
  /** All that may act, most urgent first. */
  readonly actionable: readonly EvictionThreshold[];
  /** For the node's event, type Warning, reason `EvictionThresholdMet`. */
  readonly eventMessage: string;
  /** In order; errors are logged and the rest still done. If empty, no second measurement is needed. */
  readonly calls: readonly ReclaimCall[];
}

export type RoundPlan = { readonly kind: 'nothing' } | { readonly kind: 'local-limits'; readonly evictions: readonly Eviction[] } | ReclaimPlan;

export const thresholdMetReason = 'EvictionThresholdMet';

/** @param pods active ones, @param stats by uid */
export function beginRound(
  before: PressureState,
  thresholds: readonly EvictionThreshold[],
  observations: SignalObservations,
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
  policy: EvictionPolicy,
  now: Micros,
): { readonly state: PressureState; readonly plan: RoundPlan } {
  const state = observePressure(before, thresholds, observations, policy.pressureTransitionPeriod, now);
  if (policy.localStorageCapacityIsolation) {
    const evictions = localStorageEvictions(pods, stats, policy.layout.dedicatedImageFs);
    if (evictions.length > 0) return { state, plan: { kind: 'local-limits', evictions } };
  }
  const actionable = mostUrgentFirst(actionableThresholds(before, state));
  const threshold = actionable[0];
  if (threshold === undefined) return { state, plan: { kind: 'nothing' } };
  const eventMessage = `Attempting to reclaim ${starvedResource(threshold.signal)}`;
  return { state, plan: { kind: 'reclaim', threshold, actionable, eventMessage, calls: reclaimCalls(threshold.signal, policy.layout) } };
}

/** Whether every configured threshold is resolved, of any signal and grace period. */
export function isRelieved(thresholds: readonly EvictionThreshold[], observations: SignalObservations): boolean {
  return thresholds.every((threshold) => isResolved(threshold, observations));
}

/** null if no pod may be evicted. */
export function chooseVictim(
  { threshold, actionable }: ReclaimPlan,
  state: PressureState,
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
  policy: EvictionPolicy,
): Eviction | null {
  const victim = rankPodsForEviction(pods, stats, threshold.signal, policy.layout).find(({ pod }) => !isCriticalPod(pod))?.pod;
  if (victim === undefined) return null;
  const podStats = stats.get(victim.metadata.uid ?? '');
  const { message, annotations } = evictionMessage(starvedResource(threshold.signal), victim, podStats, actionable, state.observations);
  const gracePeriodSeconds = isHard(threshold) ? immediateGracePeriodSeconds : softGracePeriodSeconds(victim, policy.maxPodGracePeriodSeconds);
  return { pod: victim, gracePeriodSeconds, message, annotations, signal: threshold.signal, condition: disruptionCondition(message) };
}

function softGracePeriodSeconds(pod: Pod, maximum: number): number {
  return Math.min(maximum, pod.spec.terminationGracePeriodSeconds ?? maximum);
}

/** Without memory the node itself stops working; the rest is equally urgent and keeps its order. */
function mostUrgentFirst(thresholds: readonly EvictionThreshold[]): readonly EvictionThreshold[] {
  return [...thresholds.filter(({ signal }) => isMemorySignal(signal)), ...thresholds.filter(({ signal }) => !isMemorySignal(signal))];
}

/** Reclaim calls on the signal's file system that end no pod. */
function reclaimCalls(signal: EvictionSignal, { dedicatedImageFs, splitContainerFs }: FileSystemLayout): readonly ReclaimCall[] {
  if (isMemorySignal(signal) || signal === 'pid.available') return [];
  if (!dedicatedImageFs) return ['containers', 'images'];
  const isImageFs = signal.startsWith('imagefs.');
  if (splitContainerFs) return isImageFs ? ['images'] : ['containers'];
  return isImageFs || signal.startsWith('containerfs.') ? ['containers', 'images'] : [];
}
