// The pod that a step works for, to attribute a programmer error to a pod. It is in the state during work for a pod
// (`AgentContext.forPod`), and known for most inputs before any work.
// Invariant: in doubt it is null: a pod is set aside only for work done for it.
import { imageMachine } from '../images/image-context.js';
import type { Wake } from '../kernel/machine.js';
import type { AgentState } from './agent-state.js';

interface Addressed {
  readonly type: string;
  readonly address?: Wake['address'];
  readonly slot?: string;
  readonly uid?: unknown;
  readonly events?: readonly object[];
}

interface OfObject {
  readonly object?: { readonly kind?: unknown; readonly metadata?: { readonly uid?: unknown } };
}

/** The UID of the pod that an input concerns; null: none, several, or unknown. */
export function subjectOf(state: AgentState, input: Addressed): string | null {
  const { address, slot = '', uid, events } = input;
  if (typeof uid === 'string') return known(state, uid);
  if (events !== undefined) return ofEvents(state, events);
  if (address === undefined) return null;
  const { machine, key } = address;
  if (key === '' && slot === '') return null;
  if (machine === 'mirror') return state.pods.podsByFullName.get(key)?.metadata.uid ?? null;
  const ofOwner =
    state.logRotation.active.get(key)?.podUid ??
    state.volumes.operations.get(key)?.uid ??
    state.alignment?.reconcile.updating.get(key)?.podUid ??
    state.api?.podCertificates.get(key)?.order.podUid ??
    (machine === imageMachine ? state.images.runs.get(Number(key))?.request.pod.metadata.uid : undefined);
  // An operation on the device of a volume is no pod's.
  if (ofOwner !== undefined && ofOwner !== '') return ofOwner;
  for (const part of [key, ...key.split('/'), ...slot.split('/')]) if (known(state, part) !== null) return part;
  return null;
}

function ofEvents(state: AgentState, events: NonNullable<Addressed['events']>): string | null {
  const objects = (events as readonly OfObject[]).flatMap(({ object }) => (object === undefined ? [] : [object]));
  const uids = new Set(objects.map(({ metadata }) => metadata?.uid));
  const [uid] = uids;
  if (uids.size !== 1 || typeof uid !== 'string') return null;
  // A pod that comes is in no index yet.
  return objects.some(({ kind }) => kind === 'Pod') ? uid : known(state, uid);
}

function known({ pods, workers, pleg, setAside, volumes, orphans }: AgentState, uid: string): string | null {
  const isKnown = [pods.pods, workers.records, pleg.records, setAside.pods, volumes.held, volumes.releases, orphans].some((uids) => uids.has(uid));
  return isKnown ? uid : null;
}
