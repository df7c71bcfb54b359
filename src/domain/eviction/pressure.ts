// The states of a threshold, from one measurement of the node to the next:
//
//   state     entered when                  meanwhile                            left when
//   clear     -                             -                                    available < value: waiting, or active if hard
//   waiting   available < value             the condition is reported            available >= value: clear, and the grace period starts again
//                                                                                the grace period has passed: active
//   active    the grace period has passed   something is reclaimed or evicted,   available >= value + minimum reclaim: clear
//                                           once for each new measurement
//
// A condition is reported until it was not seen for the transition period, so that the node doesn't flap.
// Invariant: an acting threshold is active, an active one was met, and a measurement acts at most once.
import type { Micros } from '../../ports/micros.js';
import { microsOfNanos } from '../values/go-duration.js';
import { compareQuantities } from '../values/quantity.js';
import type { SignalObservations } from './observations.js';
import { type PressureCondition, pressureCondition } from './signals.js';
import { type EvictionThreshold, isSameThreshold, resolvedQuantity, thresholdQuantity } from './thresholds.js';

export interface ObservedThreshold {
  readonly threshold: EvictionThreshold;
  /** Since when it has been met continuously. */
  readonly firstObservedAt: Micros;
}

export interface PressureState {
  readonly met: readonly ObservedThreshold[];
  readonly active: readonly EvictionThreshold[];
  readonly conditionsSeenAt: ReadonlyMap<PressureCondition, Micros>;
  /** Reported on the node, and used by admission; sorted. */
  readonly conditions: readonly PressureCondition[];
  readonly observations: SignalObservations;
}

export const noPressure: PressureState = { met: [], active: [], conditionsSeenAt: new Map(), conditions: [], observations: new Map() };

/** One observation of the node. @param thresholds those of the configuration, in order */
export function observePressure(
  before: PressureState,
  thresholds: readonly EvictionThreshold[],
  observations: SignalObservations,
  transitionPeriod: Micros,
  now: Micros,
): PressureState {
  const metThresholds = metNow(thresholds, before.active, observations);
  const met = metThresholds.map((threshold) => ({
    threshold,
    firstObservedAt: before.met.find((previous) => isSameThreshold(previous.threshold, threshold))?.firstObservedAt ?? now,
  }));
  const conditionsSeenAt = new Map(before.conditionsSeenAt);
  for (const { signal } of metThresholds) conditionsSeenAt.set(pressureCondition(signal), now);
  return {
    met,
    active: met.filter(({ threshold, firstObservedAt }) => now - firstObservedAt >= microsOfNanos(threshold.gracePeriod)).map(({ threshold }) => threshold),
    conditionsSeenAt,
    conditions: [...conditionsSeenAt].flatMap(([condition, seenAt]) => (now - seenAt < transitionPeriod ? [condition] : [])).sort(),
    observations,
  };
}

/**
 * The active thresholds that may act: those whose measurement is newer than the previous one. A stale measurement would
 * otherwise evict pod after pod.
 */
export function actionableThresholds(before: PressureState, after: PressureState): readonly EvictionThreshold[] {
  return after.active.filter(({ signal }) => {
    const observed = after.observations.get(signal);
    if (observed === undefined) return false;
    const last = before.observations.get(signal);
    return last === undefined || observed.time === null || last.time === null || observed.time > last.time;
  });
}

export function isMet(threshold: EvictionThreshold, observations: SignalObservations): boolean {
  const observed = observations.get(threshold.signal);
  return observed !== undefined && compareQuantities(observed.available, thresholdQuantity(threshold.value, observed.capacity)) < 0;
}

/** Whether the signal has reached the minimum reclaim. A signal without an observation counts as resolved. */
export function isResolved(threshold: EvictionThreshold, observations: SignalObservations): boolean {
  const observed = observations.get(threshold.signal);
  return observed === undefined || compareQuantities(observed.available, resolvedQuantity(threshold, observed.capacity)) >= 0;
}

/** Thresholds met now, then active ones that aren't resolved yet. */
function metNow(thresholds: readonly EvictionThreshold[], active: readonly EvictionThreshold[], observations: SignalObservations): readonly EvictionThreshold[] {
  const met = thresholds.filter((threshold) => isMet(threshold, observations));
  for (const threshold of active) {
    if (!isResolved(threshold, observations) && !met.some((other) => isSameThreshold(other, threshold))) met.push(threshold);
  }
  return met;
}
