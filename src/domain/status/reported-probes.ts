// The `started` and `ready` values of containers after a restart of the kubelet, until its own probes have results: the reported values, by
// container ID. The status computation itself uses the pod's Ready condition and the container's age, as the reference does
// (docs/differences.md), so it gets the reported states as if they were results.
//
// | the probe  | has a result | was reported  | counts as          |
// |------------|--------------|---------------|--------------------|
// | readiness  | yes          | anything      | its result         |
// | readiness  | no           | ready         | success            |
// | readiness  | no           | not ready, or nothing | failure    |
// | startup    | yes          | anything      | its result         |
// | startup    | no           | started       | success            |
// | startup    | no           | not started, or nothing | not passed |
//
// Invariant: a container that has a probe never counts as one that has none, also where its worker has ended or was never made.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { ProbeResult, ProbeView } from './probe-state.js';
import { isRestartableInit } from './restart-rules.js';
import { findContainerStatus } from './runtime-lookup.js';

type Results = ReadonlyMap<string, ProbeResult>;

/** @param reported the pod's status before: the one that this agent keeps, else the API's (a mirror's of a static pod) */
export function asReported(view: ProbeView, pod: Pod, runtime: PodRuntimeStatus, reported: PodStatus): ProbeView {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers?.filter(isRestartableInit) ?? [])];
  const withReadiness = containers.filter(({ readinessProbe }) => readinessProbe !== undefined);
  const withStartup = containers.filter(({ startupProbe }) => startupProbe !== undefined);
  if (withReadiness.length === 0 && withStartup.length === 0) return view;
  const statusOf = reportedById(reported);
  return {
    ...view,
    readiness: completed(view.readiness, withReadiness, runtime, (id) => (statusOf(id)?.ready === true ? 'success' : 'failure')),
    startup: completed(view.startup, withStartup, runtime, (id) => (statusOf(id)?.started === true ? 'success' : null)),
    hasWorker: (name, kind) => (kind === 'readiness' ? withReadiness : withStartup).some((container) => container.name === name),
  };
}

/** The results of these containers where they run, with what counts for those that have none. */
function completed(results: Results, containers: readonly Container[], runtime: PodRuntimeStatus, otherwise: (id: string) => ProbeResult | null): Results {
  const ids = containers.flatMap(({ name }) => {
    const found = findContainerStatus(runtime, name);
    return found?.state === 'running' ? [found.id] : [];
  });
  if (ids.every((id) => results.has(id))) return results;
  return new Map(
    ids.flatMap((id) => {
      const result = results.get(id) ?? otherwise(id);
      return result === null ? [] : [[id, result]];
    }),
  );
}

function reportedById({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): (id: string) => ContainerStatus | null {
  const all = [...containerStatuses, ...initContainerStatuses];
  return (id) => all.find(({ containerID = '', state }) => state?.running !== undefined && containerID.endsWith(`//${id}`)) ?? null;
}
