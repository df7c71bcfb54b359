// What the agent answers to those who ask it: HTTP handlers, command lines, tests. Answers are of one moment and cost no I/O.
import type { Pod } from '../model/pod.js';

export interface PodList {
  readonly kind: 'PodList';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  /** null, not an empty list, when there is no pod: so the kubelet's JSON has it. */
  readonly items: readonly Pod[] | null;
}

export interface HealthCheck {
  /** `ping`, `log`, `syncloop`, ... : the last element of its path under /healthz. */
  readonly name: string;
  /** What is wrong; null when nothing is. */
  readonly failure: string | null;
}

export interface AgentQueries {
  /** The pods that the agent was told to run, each with the status the agent gives it, in the agent's order. */
  pods(): PodList;
  /** The one of that name, with its status; null: there is none. */
  pod(namespace: string, name: string): Pod | null;
  /** Whether a container of the pod runs as far as the agent has seen: what is appended to its log is worth waiting for. */
  isContainerRunning(podUid: string, containerId: string): boolean;
  /** In the order in which they are shown. */
  health(): readonly HealthCheck[];
}

export function podList(pods: readonly Pod[]): PodList {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods.length === 0 ? null : pods };
}
