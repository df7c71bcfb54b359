// Area `pod-merge`: lists of pod sources to ordered deliveries, events and readiness.

import { areAllSourcesReady, markHandled, mergeSet, newPodConfig, type PodDelivery, type PodSource } from '../../../src/domain/pod-sources/pod-config.js';
import { configSeenAnnotation } from '../../../src/domain/pod-sources/pod-difference.js';
import { instantOf } from '../../../src/domain/values/instant.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import { type Difference, differences, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly registeredSources: readonly PodSource[];
  readonly steps: readonly { readonly source: PodSource; readonly pods: readonly Pod[] }[];
}

const firstStep = 1_767_225_600_000_000;
/** What `firstStep` plus some seconds is stamped as: nine digits of a second. */
const stamp = /^2026-01-01T00:\d\d:\d\d\.000000000Z$/;

export const driver: VectorDriver = {
  run(input: Input): unknown {
    const state = newPodConfig(input.registeredSources);
    const steps = input.steps.map((step, i) => {
      const { deliveries, events } = mergeSet(state, step.source, step.pods, instantOf(firstStep + i * 1_000_000));
      for (const delivery of deliveries) markHandled(state, delivery.source);
      return {
        updates: deliveries.map(shown),
        events: events.map((event) => `${event.type} ${event.reason} ${event.message}`),
        allSourcesReady: areAllSourcesReady(state),
      };
    });
    return { steps };
  },
  // Inside a delivery the order of pods is free.
  compare(got: Json, want: Json): Difference[] {
    return differences(sorted(got), sorted(want));
  },
};

function shown(delivery: PodDelivery): unknown {
  return { op: delivery.op, source: delivery.source, pods: delivery.pods.map(withShownStamp) };
}

function withShownStamp(pod: Pod): Pod {
  const seen = pod.metadata.annotations?.[configSeenAnnotation];
  if (seen === undefined || !stamp.test(seen)) return pod;
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [configSeenAnnotation]: '<stamped>' } } };
}

interface Answer {
  readonly steps?: readonly { readonly updates?: readonly { readonly pods?: readonly Pod[] }[] }[];
}

function sorted(answer: Json): unknown {
  const { steps } = answer as unknown as Answer;
  if (!Array.isArray(steps)) return answer;
  return { steps: steps.map((step: NonNullable<Answer['steps']>[number]) => (Array.isArray(step?.updates) ? { ...step, updates: step.updates.map(withSortedPods) } : step)) };
}

function withSortedPods(update: { readonly pods?: readonly Pod[] }): unknown {
  return Array.isArray(update?.pods) ? { ...update, pods: [...update.pods].sort((a, b) => (String(a?.metadata?.uid) < String(b?.metadata?.uid) ? -1 : 1)) } : update;
}
