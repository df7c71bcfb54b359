// Why containers could not be started, for the statuses of their pods.
// Invariant: the oldest entries are dropped beyond a bound; the failures of a pod are replaced, never changed in place.
import type { AgentContext } from '../agent-context.js';
import { asPodWorkers } from './slice.js';

const maxStartFailures = 1000;

/** @param failure null: the container has started */
export function recordStartResult(caller: AgentContext, uid: string, containerName: string, failure: { readonly reason: string; readonly message: string } | null): void {
  const { startFailures } = asPodWorkers(caller).state;
  const ofPod = new Map(startFailures.get(uid));
  if (failure === null && !ofPod.delete(containerName)) return;
  if (failure !== null) ofPod.set(containerName, failure);
  if (ofPod.size === 0) startFailures.delete(uid);
  else startFailures.set(uid, ofPod);
  const oldest = startFailures.keys().next();
  if (startFailures.size > maxStartFailures && oldest.done !== true) startFailures.delete(oldest.value);
}
