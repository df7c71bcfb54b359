// Eviction for embedders: thresholds, pressure over time, and the order of eviction. Node-pressure eviction of the Kubernetes documentation.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { observeSignals as observeSignalsOf, type SignalObservations } from '../eviction/observations.js';
import { observePressure as observePressureOf, type PressureState } from '../eviction/pressure.js';
import { type RankedPod, rankPodsForEviction } from '../eviction/ranking.js';
import { type EvictionSignal, evictionSignals, type FileSystemLayout } from '../eviction/signals.js';
import { type EvictionConfiguration, type EvictionThreshold, parseEvictionThresholds as parseThresholdsOf } from '../eviction/thresholds.js';
import type { GoParse } from '../values/go-text.js';
import { podsShape } from './api-object-shapes.js';
import { quantityShape } from './quantities.js';
import { checkArgument, dictionaryOf, expected, flag, isRecord, listOf, mapOf, measured, micros, nullable, oneOf, recordOf, type Shape, text } from './shape.js';

const statements = dictionaryOf(text);
const configurationShape = recordOf({
  ...{ evictionHard: statements, evictionSoft: statements, evictionSoftGracePeriod: statements, evictionMinimumReclaim: statements },
  enforceNodeAllocatable: listOf(text),
});
const fsShape = recordOf({}, { time: text, availableBytes: measured, capacityBytes: measured, usedBytes: measured, inodesFree: measured, inodes: measured, inodesUsed: measured });
const memoryShape = recordOf({}, { time: text, availableBytes: measured, workingSetBytes: measured });
const containersShape = listOf(recordOf({ name: text }, { memory: memoryShape, rootfs: fsShape, logs: fsShape }));
const podStatsShape = recordOf(
  { podRef: recordOf({ name: text, namespace: text, uid: text }) },
  { memory: memoryShape, containers: containersShape, volume: listOf(fsShape), 'ephemeral-storage': fsShape, process_stats: recordOf({}, { process_count: measured }) },
);
const runtimeShape = recordOf({}, { imageFs: fsShape, containerFs: fsShape });
const rlimitShape = recordOf({}, { time: text, maxpid: measured, curproc: measured });
const nodeStatsShape = recordOf({}, { memory: memoryShape, fs: fsShape, runtime: runtimeShape, rlimit: rlimitShape, systemContainers: containersShape });
const layoutShape = recordOf({ dedicatedImageFs: flag, splitContainerFs: flag });
const fraction: Shape = (value, path) => (typeof value === 'number' && value >= 0 ? null : expected(path, 'a number from 0 up', value));
const valueShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'fraction' ? recordOf({ fraction })(value, path) : recordOf({ kind: oneOf(['quantity']), quantity: quantityShape })(value, path);
const thresholdShape = recordOf({ signal: oneOf(evictionSignals), value: valueShape, gracePeriod: measured, minReclaim: nullable(valueShape) });
const observationsShape = mapOf(recordOf({ available: quantityShape, capacity: quantityShape, time: nullable(micros) }));
const pressureShape = recordOf({
  ...{ met: listOf(recordOf({ threshold: thresholdShape, firstObservedAt: micros })), active: listOf(thresholdShape) },
  ...{ conditionsSeenAt: mapOf(micros), conditions: listOf(text), observations: observationsShape },
});

/**
 * The eviction settings of a KubeletConfiguration as a list of thresholds, in the order of evaluation.
 * @param configuration values are quantities or percentages, grace periods durations, as in the file
 * @returns the thresholds, or the error with which a kubelet refuses to start
 * @throws AssertionFailed where a field has another type
 */
export function parseEvictionThresholds(configuration: EvictionConfiguration): GoParse<readonly EvictionThreshold[]> {
  checkArgument('configuration', configuration, configurationShape);
  return parseThresholdsOf(configuration);
}

/**
 * The observation of each signal in a stats summary: the available amount, the capacity, and the time of the measurement.
 * @param summary as `/stats/summary` of a kubelet answers it: bytes, inodes, processes
 * @throws AssertionFailed where a field that is read has another type
 */
export function observeSignals(summary: StatsSummary): SignalObservations {
  checkArgument('summary', summary, recordOf({ node: nodeStatsShape }, { pods: listOf(podStatsShape) }));
  return observeSignalsOf(summary, 0);
}

/**
 * One observation of the node: which thresholds are met, since when, which act, and which conditions the node reports. Begin with `noPressure`.
 * @param before the answer of the previous observation
 * @param thresholds of `parseEvictionThresholds`
 * @param observations of `observeSignals`
 * @param transitionPeriod how long a condition is reported after it was last seen, microseconds
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type
 */
export function observePressure(
  before: PressureState,
  thresholds: readonly EvictionThreshold[],
  observations: SignalObservations,
  transitionPeriod: Micros,
  now: Micros,
): PressureState {
  checkArgument('before', before, pressureShape);
  checkArgument('thresholds', thresholds, listOf(thresholdShape));
  checkArgument('observations', observations, observationsShape);
  checkArgument('transitionPeriod', transitionPeriod, micros);
  checkArgument('now', now, micros);
  return observePressureOf(before, thresholds, observations, transitionPeriod, now);
}

/**
 * The pods in the order of their eviction when a resource of the node runs out: those whose usage exceeds their request, then lower
 * priority, then the larger excess. For processes: lower priority, then more of them.
 * @param pods pods of equal rank keep this order
 * @param stats by pod uid; bytes, inodes, processes. A pod without any is ranked by its priority and its request alone
 * @param layout which parts of the node's disk are file systems of their own
 * @throws AssertionFailed where an argument has another type
 */
export function rankPods(pods: readonly Pod[], stats: ReadonlyMap<string, PodStats>, signal: EvictionSignal, layout: FileSystemLayout): RankedPod[] {
  checkArgument('pods', pods, podsShape);
  checkArgument('stats', stats, mapOf(podStatsShape));
  checkArgument('signal', signal, oneOf(evictionSignals));
  checkArgument('layout', layout, layoutShape);
  return rankPodsForEviction(pods, stats, signal, layout);
}
