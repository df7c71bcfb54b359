// A pod's addresses once its sandbox is down: the runtime has them no more, the status goes on showing what it was.
// Invariant: a sandbox that is up has the last word, also when it has no address.
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { isTerminalPhase } from './phase.js';

/** @param previous the status before: cached, else the API's, which a new agent knows what has ended from */
export function withKnownAddresses(runtime: PodRuntimeStatus, { phase, podIPs = [] }: PodStatus): PodRuntimeStatus {
  const isUp = runtime.ips.length > 0 || runtime.sandboxes.some(({ state }) => state === 'ready');
  const wasThere = runtime.sandboxes.length > 0 || (phase !== undefined && isTerminalPhase(phase));
  if (isUp || !wasThere || podIPs.length === 0) return runtime;
  return { ...runtime, ips: podIPs.map(({ ip }) => ip) };
}

/** A pod that was over before this agent saw it and of which there is nothing here: it was refused, or another has cleaned it up. Its status is as it was left. */
export function isLeftAsItIs(previous: PodStatus, { sandboxes, containers }: PodRuntimeStatus): boolean {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = previous;
  return phase !== undefined && isTerminalPhase(phase) && sandboxes.length + containers.length + containerStatuses.length + initContainerStatuses.length === 0;
}
