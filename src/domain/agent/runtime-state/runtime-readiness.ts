// Whether the container runtime is usable. Polled, never assumed: a runtime without a healthy status for half a
// minute counts as down, and then nothing is started, stopped or cleaned up.
import type { Micros } from '../../../ports/micros.js';
import type { RuntimeCondition, RuntimeHandler, RuntimeHealth } from '../../../ports/outbound/container-runtime.js';
import { problemText } from '../../node-status/problem-list.js';

export const statusPollInterval: Micros = 5_000_000;
const downAfter: Micros = 30_000_000;

export interface RuntimeReadiness {
  /** When the runtime last reported that it is ready; null: never. */
  lastGood: Micros | null;
  /** The runtime's own problem; null: none. */
  runtimeProblem: string | null;
  /** The problem of its network; null: none. Stops only pods that need the network. */
  networkProblem: string | null;
  handlers: readonly RuntimeHandler[];
  /** null: not reported. */
  supplementalGroupsPolicy: boolean | null;
  /** The podCIDR last sent to the runtime; '' before. */
  podCidr: string;
  /** The runtime's name, the prefix of container ids in the API. */
  name: string;
  version: string;
}

export function newRuntimeReadiness(): RuntimeReadiness {
  return { lastGood: null, runtimeProblem: null, networkProblem: 'network state unknown', handlers: [], supplementalGroupsPolicy: null, podCidr: '', name: '', version: '' };
}

/** Takes a status in. Returns whether the runtime is ready for the first time. */
export function statusReported(readiness: RuntimeReadiness, health: RuntimeHealth, now: Micros): boolean {
  readiness.networkProblem = isTrue(health.networkReady) ? null : `container runtime network not ready: ${conditionText('NetworkReady', health.networkReady)}`;
  if (!isTrue(health.runtimeReady)) {
    readiness.runtimeProblem = `container runtime not ready: ${conditionText('RuntimeReady', health.runtimeReady)}`;
    return false;
  }
  const first = readiness.lastGood === null;
  readiness.runtimeProblem = null;
  readiness.handlers = [...health.handlers].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  readiness.supplementalGroupsPolicy = health.supplementalGroupsPolicy;
  readiness.lastGood = now;
  return first;
}

/** Why pods are not synced, in the words of the node's Ready condition; null: they are. @param plegProblem relisting's own problem */
export function runtimeProblems(readiness: RuntimeReadiness, plegProblem: string | null, now: Micros): string | null {
  return problemText(runtimeProblemList(readiness, plegProblem, now));
}

/** The same one by one. */
export function runtimeProblemList(readiness: RuntimeReadiness, plegProblem: string | null, now: Micros): readonly string[] {
  const problems: string[] = [];
  if (readiness.lastGood === null) problems.push('container runtime status check may not have completed yet');
  else if (now - readiness.lastGood >= downAfter) problems.push('container runtime is down');
  if (plegProblem !== null) problems.push(`PLEG is not healthy: ${plegProblem}`);
  if (readiness.runtimeProblem !== null) problems.push(readiness.runtimeProblem);
  return problems;
}

function isTrue(condition: RuntimeCondition | null): boolean {
  return condition?.status === true;
}

function conditionText(type: string, condition: RuntimeCondition | null): string {
  return condition === null ? '<nil>' : `${type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}
