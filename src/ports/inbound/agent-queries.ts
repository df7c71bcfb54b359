// Queries that HTTP handlers, command lines and tests ask of the agent. Answers describe one moment and cost no I/O.
import type { Pod } from '../model/pod.js';

export interface PodList {
  readonly kind: 'PodList';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  /** null, not an empty list, without pods: as in the kubelet's JSON. */
  readonly items: readonly Pod[] | null;
}

export interface HealthCheck {
  /** `ping`, `log`, `syncloop`, ... : the last element of its path under /healthz. */
  readonly name: string;
  /** The problem; null if healthy. */
  readonly failure: string | null;
}

export interface AgentQueries {
  /** The pods assigned to the agent, each with the status that the agent reports, in the agent's order. */
  pods(): PodList;
  /** The pod of that name, with its status; null if unknown. */
  pod(namespace: string, name: string): Pod | null;
  /** Whether a container of the pod runs, as far as the agent knows. Decides whether a follower of its log keeps waiting for new lines. */
  isContainerRunning(podUid: string, containerId: string): boolean;
  /** In display order. */
  health(): readonly HealthCheck[];
}

/** As Go prints it: the items have no kind and version of their own, and a condition that was never probed has the time null. */
export function podList(pods: readonly Pod[]): PodList {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods.length === 0 ? null : pods.map(asItem) };
}

function asItem({ apiVersion: _apiVersion, kind: _kind, ...pod }: Pod): Pod {
  const { status } = pod;
  if (status?.conditions === undefined) return pod;
  const conditions = status.conditions.map(({ type, observedGeneration, status: value, lastProbeTime = null, ...rest }) => {
    return { type, ...(observedGeneration === undefined ? {} : { observedGeneration }), status: value, lastProbeTime, ...rest };
  });
  return { ...pod, status: { ...status, conditions } };
}
