// Pod lifecycle events: the changes between two listings of one pod.
//
//   new \ old        | absent  | running       | exited  | created, unknown
//   running          | Started | -             | Started | Started
//   exited           | Died    | Died          | -       | Died
//   created, unknown | Changed | Changed       | Changed | -
//   absent           | -       | Died, Removed | Removed | Died, Removed
//
// Sandboxes count like containers: ready as running, not ready as exited.
// Invariant: of one id, Died comes before Removed, and nothing comes after Removed.
import type { ContainerRuntimeState, SandboxState } from '../../ports/model/runtime-status.js';

/** The parts of a pod that relist compares; a `ListedPod` is one. */
export interface RelistedPod {
  readonly uid: string;
  readonly containers: readonly { readonly id: string; readonly state: ContainerRuntimeState }[];
  readonly sandboxes: readonly { readonly id: string; readonly state: SandboxState }[];
}

export type PodLifecycleEvent =
  | { readonly type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved'; readonly uid: string; readonly containerId: string }
  /** The pod was inspected again on request; its worker should sync. */
  | { readonly type: 'PodSync'; readonly uid: string };

export interface PodChanges {
  /** In delivery order: previously known containers first, so that a full queue drops the newest events. */
  readonly events: readonly PodLifecycleEvent[];
  /** Some container became created or unknown: requires an inspection, but no event. */
  readonly changed: boolean;
}

const noChanges: PodChanges = { events: [], changed: false };

/** Compares two listings of a pod; null means that the pod is not listed. Allocates nothing when both have the same in the same order. */
export function comparePods(uid: string, before: RelistedPod | null, after: RelistedPod | null): PodChanges {
  if (before === after) return noChanges;
  if (before !== null && after !== null && sameItems(before.containers, after.containers) && sameItems(before.sandboxes, after.sandboxes)) return noChanges;
  const old = statesById(before);
  const now = statesById(after);
  const events: PodLifecycleEvent[] = [];
  let changed = false;
  for (const [id, previous] of old) {
    const state = now.get(id);
    if (state === undefined) {
      if (previous !== 'exited') events.push({ type: 'ContainerDied', uid, containerId: id });
      events.push({ type: 'ContainerRemoved', uid, containerId: id });
    } else if (state !== previous) changed = !pushEventOf(events, uid, id, state) || changed;
  }
  for (const [id, state] of now) if (!old.has(id)) changed = !pushEventOf(events, uid, id, state) || changed;
  return { events, changed };
}

/** Adds the event of a container that entered `state`; false if it has none. */
function pushEventOf(events: PodLifecycleEvent[], uid: string, containerId: string, state: RelistState): boolean {
  if (state === 'running') events.push({ type: 'ContainerStarted', uid, containerId });
  else if (state === 'exited') events.push({ type: 'ContainerDied', uid, containerId });
  else return false;
  return true;
}

type Item = { readonly id: string; readonly state: string };

function sameItems(a: readonly Item[], b: readonly Item[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const left = a[i] as Item;
    const right = b[i] as Item;
    if (left.state !== right.state || left.id !== right.id) return false;
  }
  return true;
}

/** The states that relist distinguishes: neither a created nor an unknown container runs or has ended. */
type RelistState = 'running' | 'exited' | 'neither';

function statesById(pod: RelistedPod | null): Map<string, RelistState> {
  const states = new Map<string, RelistState>();
  if (pod === null) return states;
  for (const { id, state } of pod.containers) states.set(id, state === 'running' || state === 'exited' ? state : 'neither');
  for (const sandbox of pod.sandboxes) states.set(sandbox.id, sandbox.state === 'ready' ? 'running' : 'exited');
  return states;
}
