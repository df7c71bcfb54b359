// Merges the pods of all sources: each source sends its complete list (a SET), the result is the changes, in an order that is safe to apply.
// Transitions of one uid of one source:
//   unknown -> known: ADD;  known -> unknown: REMOVE;  known -> known under another name: REMOVE and ADD
//   known -> known: nothing, RECONCILE (only the status differs), UPDATE, or DELETE (it has a deletion time)
// Invariant: a stored pod is never changed in place; REMOVE comes before ADD, since a changed static pod has a new uid under the old name.
import type { Instant } from '../../ports/instant.js';
import type { ObjectReference } from '../../ports/model/object-meta.js';
import type { Pod } from '../../ports/model/pod.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import type { View } from '../kernel/view.js';
import { configSourceAnnotation } from '../values/pod-kind.js';
import { podFullNameOf, podReferenceTextOf } from '../values/pod-references.js';
import { formatRfc3339Micros } from '../values/time.js';
import { configSeenAnnotation, differenceOf, withAnnotations, withContentOf, withStatusOf } from './pod-difference.js';

export type PodSource = 'api' | 'file' | 'http';
export type DeliveryOp = 'REMOVE' | 'ADD' | 'UPDATE' | 'DELETE' | 'RECONCILE';

export interface PodDelivery {
  readonly op: DeliveryOp;
  readonly source: PodSource;
  /** Stored pods, in the order of the source's list; REMOVE has the last stored ones. An ADD without pods marks the source as ready. */
  readonly pods: readonly Pod[];
}

export interface PodMerge {
  /** In the order of their handling. */
  readonly deliveries: readonly PodDelivery[];
  readonly events: readonly EventRecord[];
}

interface StoredPod {
  /** The object as the source sent it: the same object again can't have changed. */
  readonly incoming: Pod;
  readonly pod: Pod;
}

interface SourceState {
  pods: Map<string, StoredPod>;
  /** A SET has been merged. */
  sent: boolean;
  /** A delivery has been handled. */
  handled: boolean;
}

/** Owned by the caller; plain data. */
export interface PodConfigState {
  readonly registered: Set<PodSource>;
  readonly sources: Map<PodSource, SourceState>;
}

export function newPodConfig(registered: Iterable<PodSource>): PodConfigState {
  return { registered: new Set(registered), sources: new Map() };
}

/** Takes the complete list of a source. Changes `state`. */
export function mergeSet(state: PodConfigState, source: PodSource, pods: readonly Pod[], wall: Instant): PodMerge {
  const record = sourceState(state, source);
  const isFirst = !record.sent;
  record.sent = true;
  const { kept, events } = withoutDuplicates(source, pods);
  const stored = new Map<string, StoredPod>();
  const byOp: Record<DeliveryOp, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const seen = seenText(wall);
  for (const incoming of kept) {
    const uid = incoming.metadata.uid ?? '';
    const known = record.pods.get(uid);
    // Another name under the same uid (a manifest with a uid of its own) is another pod: the old one has to go first.
    const previous = known !== undefined && podFullNameOf(known.pod) === podFullNameOf(incoming) ? known : undefined;
    if (known !== undefined && previous === undefined) byOp.REMOVE.push(known.pod);
    const { op, pod } = previous === undefined ? added(source, incoming, seen) : changed(source, previous, incoming);
    stored.set(uid, { incoming, pod });
    if (op !== null) byOp[op].push(pod);
  }
  for (const [uid, previous] of record.pods) if (!stored.has(uid)) byOp.REMOVE.push(previous.pod);
  record.pods = stored;
  return { deliveries: deliveriesOf(source, byOp, isFirst), events };
}

/** A pod of a source was added, changed or removed. The final state of a removed pod doesn't count: a forced deletion has 0 s of grace. */
export type PodChange = { readonly type: 'upsert' | 'delete'; readonly pod: Pod };

/**
 * Merges changes of a source whose names and uids are unique already: of several changes of one uid only the last
 * counts. The cost depends on the changes alone. The first call must contain all pods. Changes `state`.
 */
export function mergeChanges(state: PodConfigState, source: PodSource, changes: readonly PodChange[], wall: Instant): PodMerge {
  const record = sourceState(state, source);
  const isFirst = !record.sent;
  record.sent = true;
  const last = new Map<string, PodChange>();
  for (const change of changes) last.set(change.pod.metadata.uid ?? '', change);
  const byOp: Record<DeliveryOp, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const seen = seenText(wall);
  for (const [uid, { type, pod: incoming }] of last) {
    const previous = record.pods.get(uid);
    if (type === 'delete') {
      if (previous !== undefined) byOp.REMOVE.push(previous.pod);
      record.pods.delete(uid);
      continue;
    }
    const { op, pod } = previous === undefined ? added(source, incoming, seen) : changed(source, previous, incoming);
    record.pods.set(uid, { incoming, pod });
    if (op !== null) byOp[op].push(pod);
  }
  return { deliveries: deliveriesOf(source, byOp, isFirst), events: [] };
}

/** Marks a delivery of the source as handled: only then do absent pods count as absent. */
export function markHandled(state: PodConfigState, source: PodSource): void {
  sourceState(state, source).handled = true;
}

/** Every registered source has sent a list, and part of it is handled. No cleanup happens before. */
export function areAllSourcesReady(state: View<PodConfigState>): boolean {
  for (const source of state.registered) {
    const record = state.sources.get(source);
    if (record === undefined || !record.sent || !record.handled) return false;
  }
  return true;
}

function sourceState(state: PodConfigState, source: PodSource): SourceState {
  const known = state.sources.get(source);
  if (known !== undefined) return known;
  const fresh: SourceState = { pods: new Map(), sent: false, handled: false };
  state.sources.set(source, fresh);
  return fresh;
}

function seenText(wall: Instant): string {
  return `${formatRfc3339Micros(wall).slice(0, -1)}000Z`;
}

type Classified = { readonly op: DeliveryOp | null; readonly pod: Pod };

function added(source: PodSource, incoming: Pod, seen: string): Classified {
  return { op: 'ADD', pod: withAnnotations(incoming, { [configSourceAnnotation]: source, [configSeenAnnotation]: seen }) };
}

function changed(source: PodSource, previous: StoredPod, incoming: Pod): Classified {
  if (previous.incoming === incoming) return { op: null, pod: previous.pod };
  const stored = previous.pod;
  const difference = differenceOf(stored, incoming);
  if (difference === 'none') return { op: null, pod: stored };
  if (difference === 'status') return { op: 'RECONCILE', pod: withStatusOf(stored, incoming) };
  const pod = withAnnotations(withContentOf(stored, incoming), { [configSourceAnnotation]: source });
  return { op: incoming.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE', pod };
}

/** Keeps only the first of several pods with one name and namespace, or one UID. */
function withoutDuplicates(source: PodSource, pods: readonly Pod[]): { readonly kept: readonly Pod[]; readonly events: readonly EventRecord[] } {
  const names = new Set<string>();
  const uids = new Set<string>();
  const kept: Pod[] = [];
  const events: EventRecord[] = [];
  for (const pod of pods) {
    const fullName = podFullNameOf(pod);
    const uid = pod.metadata.uid ?? '';
    const what = names.has(fullName) ? `pod name ${JSON.stringify(pod.metadata.name)}` : uids.has(uid) ? `pod uid ${JSON.stringify(uid)}` : null;
    if (what === null) {
      names.add(fullName);
      uids.add(uid);
      kept.push(pod);
    } else events.push(duplicateEvent(pod, `Error validating pod ${podReferenceTextOf(pod)} from ${source} due to duplicate ${what}, ignoring`));
  }
  return { kept, events };
}

function duplicateEvent(pod: Pod, message: string): EventRecord {
  const { name, namespace, uid } = pod.metadata;
  const involvedObject: ObjectReference = { apiVersion: 'v1', kind: 'Pod', name, namespace: namespace ?? '', uid: uid ?? '' };
  return { involvedObject, type: 'Warning', reason: 'FailedValidation', message };
}

function deliveriesOf(source: PodSource, byOp: Readonly<Record<DeliveryOp, readonly Pod[]>>, isFirst: boolean): PodDelivery[] {
  const deliveries: PodDelivery[] = [];
  for (const op of ['REMOVE', 'ADD', 'UPDATE', 'DELETE'] as const) if (byOp[op].length > 0) deliveries.push({ op, source, pods: byOp[op] });
  const saysNothing = byOp.ADD.length === 0 && byOp.UPDATE.length === 0 && byOp.DELETE.length === 0;
  if (isFirst && saysNothing) deliveries.push({ op: 'ADD', source, pods: [] });
  if (byOp.RECONCILE.length > 0) deliveries.push({ op: 'RECONCILE', source, pods: byOp.RECONCILE });
  return deliveries;
}
