// Runs of the eviction loop one after the other, with the measurements that a case gives; and signals read off a summary.

import { evictedReason } from '../../../src/domain/eviction/eviction.js';
import { beginRound, chooseVictim, type EvictionPolicy, isRelieved, type ReclaimPlan, thresholdMetReason } from '../../../src/domain/eviction/eviction-round.js';
import { observeSignals, type SignalObservations } from '../../../src/domain/eviction/observations.js';
import { noPressure, type PressureState } from '../../../src/domain/eviction/pressure.js';
import { adaptToFileSystems, type EvictionConfiguration, type EvictionThreshold, parseEvictionThresholds } from '../../../src/domain/eviction/thresholds.js';
import { formatDuration, parseGoDuration } from '../../../src/domain/values/go-duration.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { mustParseQuantity, quantityText, quantityValue } from '../../../src/domain/values/quantity.js';
import { formatRfc3339, parseRfc3339 } from '../../../src/domain/values/time.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodStats, StatsSummary } from '../../../src/ports/model/stats-summary.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Observed = Readonly<Record<string, { readonly available: string; readonly capacity: string; readonly time?: string }>>;

interface Sequence {
  readonly op: 'sequence';
  readonly config: Partial<EvictionConfiguration>;
  readonly evictionPressureTransitionPeriod: string;
  readonly evictionMaxPodGracePeriod: number;
  readonly dedicatedImageFs: boolean;
  readonly splitContainerFs: boolean;
  readonly pods: readonly { readonly pod: Pod; readonly stats?: PodStats }[];
  readonly steps: readonly { readonly time: string; readonly observations: Observed; readonly observationsAfterReclaim?: Observed }[];
}

/** Each signal as it is read off a summary in which it is measured: so it has the format that the daemon's messages have. */
function parsed(observed: Observed): SignalObservations {
  return new Map(Object.keys(observed).flatMap((signal) => [...observeSignals({ node: { nodeName: 'n', ...nodeStats(signal, observed[signal] as Observed[string]) } }, 0)]));
}

function nodeStats(signal: string, observation: Observed[string]): Partial<StatsSummary['node']> {
  const available = Number(quantityValue(mustParseQuantity(observation.available)));
  const capacity = Number(quantityValue(mustParseQuantity(observation.capacity)));
  const time = observation.time === undefined ? {} : { time: observation.time };
  const memory = { availableBytes: available, workingSetBytes: capacity - available, ...time };
  const fs = signal.endsWith('.inodesFree') ? { inodesFree: available, inodes: capacity, ...time } : { availableBytes: available, capacityBytes: capacity, ...time };
  switch (signal.split('.')[0]) {
    case 'memory':
      return { memory };
    case 'allocatableMemory':
      return { systemContainers: [{ name: 'pods', memory }] };
    case 'nodefs':
      return { fs };
    case 'imagefs':
      return { runtime: { imageFs: fs } };
    case 'containerfs':
      return { runtime: { containerFs: fs } };
    default:
      return { rlimit: { maxpid: capacity, curproc: capacity - available, ...time } };
  }
}

function shownThresholds(thresholds: readonly EvictionThreshold[]): Json {
  return thresholds.map(({ signal, gracePeriod }) => ({ signal, gracePeriod: formatDuration(gracePeriod) }));
}

function runSequence(input: Sequence): Json {
  const config = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [], ...input.config };
  const configured = parseEvictionThresholds(config);
  if (!configured.ok) return { error: configured.error };
  const policy: EvictionPolicy = {
    pressureTransitionPeriod: parseGoDuration(input.evictionPressureTransitionPeriod) as number,
    maxPodGracePeriodSeconds: input.evictionMaxPodGracePeriod,
    localStorageCapacityIsolation: false,
    layout: input,
  };
  const { thresholds, firstRun } = adaptToFileSystems(configured.value, input);
  const stats = new Map(input.pods.flatMap(({ pod, stats }) => (stats === undefined ? [] : [[pod.metadata.uid ?? '', stats] as const])));
  let pods = input.pods.map(({ pod }) => pod);
  let state: PressureState = noPressure;
  return {
    steps: input.steps.map(({ time, observations, observationsAfterReclaim }, i) => {
      const begun = beginRound(state, i === 0 ? firstRun : thresholds, parsed(observations), pods, stats, policy, epochMicros(parseRfc3339(time) ?? instantOf(Number.NaN)));
      state = begun.state;
      const common = {
        thresholdsMet: shownThresholds(state.met.map(({ threshold }) => threshold)),
        thresholdsMetWithGrace: shownThresholds(state.active),
        nodeConditions: [...state.conditions],
      };
      if (begun.plan.kind !== 'reclaim') return { ...common, action: null };
      const evicted = act(begun.plan, parsed(observationsAfterReclaim ?? observations), thresholds, state, pods, stats, policy);
      pods = pods.filter((pod) => pod !== evicted?.pod);
      return { ...common, action: actionOf(begun.plan, evicted) };
    }),
  };
}

function act(
  plan: ReclaimPlan,
  afterReclaim: SignalObservations,
  thresholds: readonly EvictionThreshold[],
  state: PressureState,
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
  policy: EvictionPolicy,
): ReturnType<typeof chooseVictim> {
  if (plan.calls.length > 0 && isRelieved(thresholds, afterReclaim)) return null;
  return chooseVictim(plan, state, pods, stats, policy);
}

function actionOf(plan: ReclaimPlan, evicted: ReturnType<typeof chooseVictim>): Json {
  const action = { nodeEvent: `Warning ${thresholdMetReason} ${plan.eventMessage}`, reclaimCalls: [...plan.calls] };
  if (evicted === null) return action;
  const { pod, gracePeriodSeconds, message, annotations, condition } = evicted;
  return {
    ...action,
    evicted: { pod: pod.metadata.name, gracePeriodSeconds, phase: 'Failed', reason: evictedReason, message, condition: condition as Json, eventAnnotations: annotations },
  };
}

function observations(summary: StatsSummary): Json {
  const shown = [...observeSignals(summary, 0)].map(([signal, { available, capacity, time }]) => [
    signal,
    { available: quantityText(available), capacity: quantityText(capacity), ...(time === null ? {} : { time: formatRfc3339(instantOf(time)) }) },
  ]);
  return { observations: Object.fromEntries(shown) };
}

/** Thresholds are sets; a step that names no action leaves it open which of several was taken. */
function comparable(step: Record<string, unknown>, wanted: Record<string, unknown>): Record<string, unknown> {
  const { action, ...rest } = step;
  const sorted = (list: unknown): unknown => (Array.isArray(list) ? list.map((item) => JSON.stringify(item, ['signal', 'gracePeriod'])).sort() : list);
  return {
    ...rest,
    thresholdsMet: sorted(rest.thresholdsMet),
    thresholdsMetWithGrace: sorted(rest.thresholdsMetWithGrace),
    ...('action' in wanted ? { action } : {}),
  };
}

export const driver: VectorDriver = {
  run(input: Sequence | { readonly op: 'observe'; readonly summary: StatsSummary }) {
    return input.op === 'observe' ? observations(input.summary) : runSequence(input);
  },
  compare(got: unknown, want: Json): Difference[] {
    if (!isObject(got) || !isObject(want) || !Array.isArray(got.steps) || !Array.isArray(want.steps)) return differences(got, want);
    const wanted: unknown[] = want.steps;
    const both = (steps: readonly unknown[]): unknown[] =>
      steps.map((step, i) => {
        const other = wanted[i];
        return isObject(step) && isObject(other) ? comparable(step, other) : step;
      });
    return differences({ steps: both(got.steps) }, { steps: both(wanted) });
  },
};
