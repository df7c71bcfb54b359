// A pod's addresses once its sandbox is down: the runtime no longer has them, the status keeps the previous ones.
// Invariant: a running sandbox's addresses take precedence, even if it has none.
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { isTerminalPhase } from './phase.js';

/** @param previous the cached status, else the API's, from which a new agent learns which containers have ended */
export function withKnownAddresses(runtime: PodRuntimeStatus, { phase, podIPs = [] }: PodStatus): PodRuntimeStatus {
  const isUp = runtime.ips.length > 0 || runtime.sandboxes.some(({ state }) => state === 'ready');
  const wasThere = runtime.sandboxes.length > 0 || (phase !== undefined && isTerminalPhase(phase));
  if (isUp || !wasThere || podIPs.length === 0) return runtime;
  return { ...runtime, ips: podIPs.map(({ ip }) => ip) };
}

/** A pod that had terminated before this agent saw it and of which nothing is here: it was refused, or another agent cleaned it up. Its status stays as it is. */
export function isLeftAsItIs(previous: PodStatus, { sandboxes, containers }: PodRuntimeStatus): boolean {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = previous;
  return phase !== undefined && isTerminalPhase(phase) && sandboxes.length + containers.length + containerStatuses.length + initContainerStatuses.length === 0;
}
