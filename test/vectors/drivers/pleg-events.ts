// Relist rounds over scripted listings, with the cache they keep.

import type { RelistedPod } from '../../../src/domain/pleg/lifecycle-events.js';
import {
  inspected,
  inspectionFailed,
  isPodRelistDue,
  newPleg,
  type Pleg,
  plegProblem,
  podRelisted,
  type RelistOutcome,
  relisted,
  requestReinspection,
  takePlegEvents,
} from '../../../src/domain/pleg/pleg.js';
import { newPodCache, type PodCache, readPodCache } from '../../../src/domain/pod-cache/pod-cache.js';
import { instantOf } from '../../../src/domain/values/instant.js';
import type { PodRuntimeStatus } from '../../../src/ports/model/runtime-status.js';
import { differences } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface ListedInput {
  readonly uid: string;
  readonly containers?: readonly { readonly id: string; readonly state: 'created' | 'running' | 'exited' | 'unknown' }[];
  readonly sandboxes?: readonly { readonly id: string; readonly state: 'running' | 'exited' }[];
  readonly ips?: readonly string[];
  readonly inspectError?: string;
}
interface Step {
  readonly do: 'relist' | 'relistPod' | 'requestReinspect' | 'health';
  readonly secondsSincePreviousStep: number;
  readonly pods?: readonly ListedInput[];
  readonly listError?: string;
  readonly uid?: string;
  readonly requestedSecondsAgo?: number;
}
interface Input {
  readonly eventQueueCapacity: number;
  readonly steps: readonly Step[];
}
interface Event {
  readonly uid: string;
  readonly type: string;
  readonly containerId?: string;
}
interface WantedStep {
  readonly events: readonly Event[];
}

const second = 1_000_000;

function listedPod(pod: ListedInput): RelistedPod {
  return {
    uid: pod.uid,
    containers: pod.containers ?? [],
    sandboxes: (pod.sandboxes ?? []).map(({ id, state }) => ({ id, state: state === 'running' ? 'ready' : 'notReady' })),
  };
}

function statusOf(pod: ListedInput, now: number): PodRuntimeStatus {
  return {
    uid: pod.uid,
    name: '',
    namespace: '',
    ips: pod.ips ?? [],
    sandboxes: listedPod(pod).sandboxes.map(({ id, state }) => ({ id, state, attempt: 0, networkMode: 'pod', hasNetwork: false, ip: null, createdAt: instantOf(0) })),
    containers: (pod.containers ?? []).map(({ id, state }) => ({
      ...{ id, state, sandboxId: '', name: id, createdAt: instantOf(0), startedAt: null, finishedAt: null, exitCode: 0, reason: '', message: '', restartCount: 0 },
      ...{ hash: '', image: '', imageRef: '', imageId: '', resources: null, user: null },
    })),
    observedAt: now,
  };
}

/** One round: the listing, then every inspection it asks for. */
function round(pleg: Pleg, cache: PodCache, step: Step, now: number): RelistOutcome[] {
  const pods = step.pods ?? [];
  if (step.listError !== undefined) return [];
  if (step.do === 'relistPod' && !isPodRelistDue(pleg, now - (step.requestedSecondsAgo ?? 0) * second)) return [];
  const asked = pods.find((pod) => pod.uid === step.uid);
  const first = step.do === 'relist' ? relisted(pleg, cache, pods.map(listedPod), now) : podRelisted(pleg, cache, asked === undefined ? null : listedPod(asked), now);
  return [
    first,
    ...first.inspect.map((uid) => {
      const pod = pods.find((candidate) => candidate.uid === uid) as ListedInput;
      if (pod.inspectError === undefined) return inspected(pleg, cache, uid, statusOf(pod, now));
      return inspectionFailed(pleg, cache, uid, { kind: 'unknown', message: pod.inspectError, operation: '', subject: '', retryAfterMicros: null }, now);
    }),
  ];
}

function cacheText(cache: PodCache, uid: string): unknown {
  const read = readPodCache(cache, uid);
  if (read.kind === 'failed') return { error: read.error.message };
  const containers = Object.fromEntries(read.status.containers.map(({ id, state }) => [id, state]));
  return read.status.ips.length > 0 ? { containers, ips: read.status.ips } : { containers };
}

function runStep(pleg: Pleg, cache: PodCache, step: Step, now: number, uids: readonly string[]): unknown {
  const before = pleg.lastRelist;
  if (step.do === 'requestReinspect') requestReinspection(pleg, step.uid as string);
  const outcomes = step.do === 'relist' || step.do === 'relistPod' ? round(pleg, cache, step, now) : [];
  const problem = plegProblem(pleg, now);
  return {
    events: takePlegEvents(pleg),
    cacheSet: outcomes.flatMap((outcome) => outcome.updated).sort(),
    cacheDeleted: outcomes.flatMap((outcome) => outcome.deleted).sort(),
    cacheObserved: outcomes.flatMap((outcome) => outcome.observed).sort(),
    cache: Object.fromEntries(uids.map((uid) => [uid, cacheText(cache, uid)])),
    relistTimeAdvanced: pleg.lastRelist !== before,
    globalCacheTimeUpdated: outcomes.some((outcome) => outcome.globalTimeAdvanced),
    ...(step.do === 'health' ? { healthy: problem === null, ...(problem === null ? {} : { message: problem }) } : {}),
  };
}

/** Events of a step as a set, plus that no container's death comes after its removal. */
function comparable(step: WantedStep): unknown {
  const text = (event: Event): string => `${event.uid} ${event.containerId ?? ''} ${event.type}`;
  const sorted = [...step.events].sort((a, b) => (text(a) < text(b) ? -1 : 1));
  const diedAfterRemoved = step.events.some(
    (event, i) => event.type === 'ContainerDied' && step.events.slice(0, i).some((earlier) => earlier.type === 'ContainerRemoved' && earlier.containerId === event.containerId),
  );
  return { ...step, events: sorted, diedAfterRemoved };
}

export const driver: VectorDriver = {
  run({ eventQueueCapacity, steps }: Input) {
    const pleg = newPleg(eventQueueCapacity);
    const cache = newPodCache();
    const uids = [...new Set(steps.flatMap((step) => (step.pods ?? []).map((pod) => pod.uid)))];
    let now = 1_000_000_000 * second;
    return {
      steps: steps.map((step) => {
        now += step.secondsSincePreviousStep * second;
        return runStep(pleg, cache, step, now, uids);
      }),
    };
  },
  compare(got: { readonly steps: readonly WantedStep[] }, want) {
    const steps = (want as unknown as { readonly steps: unknown }).steps;
    // An altered `want` may have anything in place of a list of steps.
    const normalised = Array.isArray(steps) ? steps.map((step: WantedStep) => (Array.isArray(step?.events) ? comparable(step) : step)) : steps;
    return differences({ ...got, steps: got.steps.map(comparable) }, { ...(want as object), steps: normalised });
  },
};
