// The data of the live page, as one JSON document: the node, its eviction signals, its pods with their lives, and its cgroups.
// Invariants: an unknown measurement is null, never 0; it contains nothing of a pod's environment or secrets.

import type { Micros } from '../../ports/micros.js';
import type { CgroupSample } from '../../ports/model/cgroup-sample.js';
import type { KnownContainer } from '../../ports/model/node-measurements.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { observeSignals, statsByPod } from '../eviction/observations.js';
import { type EvictionThreshold, isHard, thresholdQuantity } from '../eviction/thresholds.js';
import { instantOf } from '../values/instant.js';
import { isStaticPod } from '../values/pod-kind.js';
import { type Quantity, quantityValue } from '../values/quantity.js';
import type { LifeSpan } from './pod-lives.js';
import { containerRows, podRows } from './pod-rows.js';

export interface PageFacts {
  readonly nodeName: string;
  readonly version: string;
  readonly runtime: string;
  readonly startedAt: Micros;
  readonly cpuCount: number;
  readonly memoryBytes: number;
}

export interface PageCgroup {
  readonly path: string;
  /** null: the cgroup is of no container. */
  readonly container: KnownContainer | null;
  readonly sample: CgroupSample;
}

export interface PageReading {
  readonly now: Micros;
  readonly pods: readonly Pod[];
  /** null: unknown at the moment. */
  readonly summary: StatsSummary | null;
  readonly cgroups: readonly PageCgroup[];
  readonly thresholds: readonly EvictionThreshold[];
  /** Failing health checks, by name. */
  readonly failures: readonly { readonly name: string; readonly failure: string }[];
  readonly lifeOf: (uid: string) => readonly LifeSpan[];
}

/** The tree is for reading: a node has some hundreds. */
const cgroupsMax = 1000;

/** Times are milliseconds since the epoch, sizes bytes, processor time nanocores. */
export function pageData(facts: PageFacts, reading: PageReading) {
  const { now, pods, summary, thresholds, failures } = reading;
  return {
    now: millis(now),
    sampledAt: summary?.node.cpu?.time ?? null,
    node: {
      name: facts.nodeName,
      version: facts.version,
      runtime: facts.runtime,
      startedAt: millis(facts.startedAt),
      cpuCount: facts.cpuCount,
      memoryBytes: facts.memoryBytes,
      cpuNanoCores: summary?.node.cpu?.usageNanoCores ?? null,
      workingSetBytes: summary?.node.memory?.workingSetBytes ?? null,
    },
    failures,
    signals: summary === null ? [] : signalsOf(summary, thresholds),
    pods: podsOf(pods, summary, reading),
    cgroups: reading.cgroups.slice(0, cgroupsMax).map(cgroupOf),
  };
}

/** Each threshold with its observed signal; without an observation the threshold alone. */
function signalsOf(summary: StatsSummary, thresholds: readonly EvictionThreshold[]) {
  const observations = observeSignals(summary, 0);
  return thresholds.map((threshold) => {
    const observation = observations.get(threshold.signal);
    return {
      signal: threshold.signal,
      kind: isHard(threshold) ? 'hard' : 'soft',
      available: observation === undefined ? null : numberOf(observation.available),
      capacity: observation === undefined ? null : numberOf(observation.capacity),
      threshold: observation === undefined ? null : numberOf(thresholdQuantity(threshold.value, observation.capacity)),
      isBytes: threshold.signal !== 'pid.available' && !threshold.signal.endsWith('inodesFree'),
    };
  });
}

function podsOf(pods: readonly Pod[], summary: StatsSummary | null, { now, lifeOf }: PageReading) {
  const stats: ReadonlyMap<string, PodStats> = summary === null ? new Map() : statsByPod(summary);
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid ?? '', pod]));
  return podRows(pods, instantOf(now)).map((row) => {
    const pod = byUid.get(row.uid)!;
    const measured = stats.get(row.uid);
    return {
      ...row,
      isStatic: isStaticPod(pod),
      isEnding: pod.metadata.deletionTimestamp != null,
      cpuNanoCores: measured?.cpu?.usageNanoCores ?? null,
      workingSetBytes: measured?.memory?.workingSetBytes ?? null,
      containers: containerRows([pod]).map(({ name, state, restarts, image }) => ({ name, state, restarts, image })),
      life: lifeOf(row.uid).map(({ step, subject, from, to, failure }) => ({ step, subject, from: millis(from), to: to === null ? null : millis(to), failure })),
    };
  });
}

function cgroupOf({ path, container, sample: { reading } }: PageCgroup) {
  return {
    path,
    of: container === null ? '' : [container.podNamespace, container.podName, container.isSandbox ? 'sandbox' : container.containerName].join('/'),
    cpuNanoCores: reading?.cpu?.usageNanoCores ?? null,
    workingSetBytes: reading?.memory?.workingSetBytes ?? null,
    processes: reading?.processCount ?? null,
  };
}

function numberOf(quantity: Quantity): number {
  return Number(quantityValue(quantity));
}

function millis(at: Micros): number {
  return Math.round(at / 1000);
}
