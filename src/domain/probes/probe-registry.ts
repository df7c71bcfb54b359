// All probe workers of a node and their results, as data. Results are keyed by container ID, so that a restarted container inherits none.
// Invariant: a result exists only while its worker exists.

import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { canonicalJson } from '../kernel/canonical.js';
import type { View } from '../kernel/view.js';
import type { ProbeResult, ProbeView } from '../status/probe-state.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { instantOf } from '../values/instant.js';
import type { ProbeKind } from './probe-outcome.js';
import { type ProbeWorker, probeOf } from './probe-worker.js';

export interface RegisteredWorker {
  readonly worker: ProbeWorker;
  /** Its answers come back to this slot: those to an earlier worker of the same probe do not. */
  readonly slot: string;
}

export interface PodProbes {
  /** The pod of the last comparison of workers and spec. */
  pod: Pod;
  readonly workers: Map<string, RegisteredWorker>;
  /** Another number whenever something changed that the pod's status follows from. */
  version: number;
}

export interface ProbeRegistry {
  readonly pods: Map<string, PodProbes>;
  readonly results: Readonly<Record<ProbeKind, Map<string, ProbeResult>>>;
  /** Workers and versions so far. */
  count: number;
}

export const probeKinds: readonly ProbeKind[] = ['startup', 'liveness', 'readiness'];
const noResults: ReadonlyMap<string, ProbeResult> = new Map();
/** Before every container's start. */
const kubeletStartedAt = instantOf(0);

export function newProbeRegistry(): ProbeRegistry {
  return { pods: new Map(), results: { liveness: new Map(), readiness: new Map(), startup: new Map() }, count: 0 };
}

/** One probe of a pod; neither kinds nor container names hold a slash. */
export function probeName(kind: ProbeKind, containerName: string): string {
  return `${kind}/${containerName}`;
}

/** Containers that are probed: regular ones and sidecars. */
export function probedContainers(pod: Pod): readonly Container[] {
  const sidecars = pod.spec.initContainers?.filter(isRestartableInit) ?? [];
  return sidecars.length === 0 ? pod.spec.containers : [...pod.spec.containers, ...sidecars];
}

export function hasProbes(pod: Pod): boolean {
  return probedContainers(pod).some((container) => probeKinds.some((kind) => probeOf(container, kind) !== null));
}

export function isSameProbe({ probe, container }: ProbeWorker, other: Container, kind: ProbeKind): boolean {
  return container === other || canonicalJson(probe) === canonicalJson(probeOf(other, kind));
}

/**
 * The input of a pod's status from its probes. Containers of an earlier kubelet are never recognised by their age, which is a comparison of timestamps:
 * what was reported of them is added by `reported-probes.ts`.
 */
export function probeViewOf(registry: View<ProbeRegistry>, uid: string): ProbeView {
  const probes = registry.pods.get(uid);
  if (probes === undefined) return { readiness: noResults, startup: noResults, hasWorker: () => false, kubeletStartedAt };
  const { readiness, startup } = registry.results;
  return { readiness, startup, hasWorker: (containerName, kind) => probes.workers.has(probeName(kind, containerName)), kubeletStartedAt };
}

export function probeVersionOf(registry: View<ProbeRegistry>, uid: string): number {
  return registry.pods.get(uid)?.version ?? 0;
}
