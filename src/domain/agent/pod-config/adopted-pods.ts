// Static pods that another kubelet started are adopted without a restart. A manifest without a UID gets one from its content, and every kubelet
// generates its own: so a pod of this node's runtime with the full name of a static pod, a UID that another kubelet generated, and the same
// containers (by the hash annotation of all kubelets) is that pod, and keeps its UID for as long as the manifest is unchanged.
//
// All sets of the sources are held until the first runtime listing. A static pod with a namesake of another UID in the listing waits until the
// namesake is inspected. Its namesakes keep running meanwhile, and no other pod waits.
// Invariants: only the first set that has a pod adopts; a manifest that changes loses the UID, and its pod is replaced as any static pod is.
import type { Pod } from '../../../ports/model/pod.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import type { PodSource } from '../../pod-sources/pod-config.js';
import { configHashAnnotation } from '../../pod-sources/static-pod-defaults.js';
import { containerHash } from '../../values/container-hash.js';
import { isGeneratedUid, isOwnGeneratedUid } from '../../values/generated-uid.js';
import { podFullName, podFullNameOf } from '../../values/pod-references.js';
import { uidOf } from '../pod-manager/pod-index.js';
import type { AdoptionState } from './adoption-state.js';
import type { PodConfigContext } from './slice.js';

/** The pods of a source under their effective UIDs, without those that wait; null: all of them wait. */
export function adopted(context: PodConfigContext, source: PodSource, pods: readonly Pod[]): readonly Pod[] | null {
  const { state } = context;
  const { adoption } = state;
  if (source === 'api') return pods;
  const isFirst = !adoption.begun.has(source);
  if (isFirst && state.cache.globalTime === null) {
    adoption.held.set(source, pods);
    return null;
  }
  adoption.begun.add(source);
  const mayAdopt = (pod: Pod): boolean => isFirst || adoption.awaited.get(podFullNameOf(pod))?.ownUid === uidOf(pod);
  const candidates = pods.filter(mayAdopt);
  forgetAwaited(adoption, source);
  for (const pod of candidates) {
    const uids = unknownNamesakes(state, pod);
    if (uids.length > 0) adoption.awaited.set(podFullNameOf(pod), { source, ownUid: uidOf(pod), uids });
    else adopt(context, pod);
  }
  const taken = adoption.awaited.size === 0 ? pods : pods.filter((pod) => !adoption.awaited.has(podFullNameOf(pod)));
  if (taken.length < pods.length) adoption.held.set(source, pods);
  else adoption.held.delete(source);
  return adoption.adopted.size === 0 ? taken : taken.map((pod) => translated(adoption, pod));
}

/** Held sets that can be delivered now, in part or in full. */
export function releasedSets({ state }: PodConfigContext): (readonly [PodSource, readonly Pod[]])[] {
  const { held, begun, awaited } = state.adoption;
  if (held.size === 0 || state.cache.globalTime === null) return [];
  const isKnown = (pod: Pod): boolean => awaited.get(podFullNameOf(pod))?.ownUid === uidOf(pod) && unknownNamesakes(state, pod).length === 0;
  return [...held].filter(([source, pods]) => !begun.has(source) || pods.some(isKnown));
}

/** UIDs of listed pods with the pod's full name and another UID that are not inspected yet. */
function unknownNamesakes({ cache, relist }: PodConfigContext['state'], pod: Pod): string[] {
  if (!isWithoutUid(pod)) return [];
  const fullName = podFullNameOf(pod);
  const namesakes = (relist.newest?.pods ?? []).filter(({ uid, name, namespace }) => uid !== uidOf(pod) && podFullName(name, namespace) === fullName);
  return namesakes.flatMap(({ uid }) => (cache.entries.get(uid)?.cached.kind === 'status' ? [] : [uid]));
}

function forgetAwaited({ awaited }: AdoptionState, source: PodSource): void {
  for (const [fullName, pod] of awaited) if (pod.source === source) awaited.delete(fullName);
}

function adopt({ state, turn }: PodConfigContext, pod: Pod): void {
  if (!isWithoutUid(pod)) return;
  const fullName = podFullNameOf(pod);
  const aside = [...state.setAside.pods.values()].find(({ uid, manifestUid }) => manifestUid === uidOf(pod) && uid !== manifestUid);
  if (aside !== undefined) {
    // Adopted by the agent that it ended; its containers are not compared now.
    state.adoption.adopted.set(fullName, { ownUid: uidOf(pod), uid: aside.uid, from: pod, pod: withUid(pod, aside.uid) });
    return;
  }
  const listed = (state.relist.newest?.pods ?? []).filter(({ name, namespace }) => podFullName(name, namespace) === fullName);
  const [only, ...more] = listed.filter(({ uid, sandboxes }) => isGeneratedUid(uid) && !isOwnGeneratedUid(uid) && sandboxes.some((sandbox) => sandbox.state === 'ready'));
  if (only === undefined || more.length > 0 || listed.some(({ uid }) => uid === uidOf(pod)) || !runsSame(state.cache.entries.get(only.uid)?.cached, pod, only)) return;
  state.adoption.adopted.set(fullName, { ownUid: uidOf(pod), uid: only.uid, from: pod, pod: withUid(pod, only.uid) });
  turn.log('info', 'Taking over a static pod that another kubelet started', { pod: fullName, podUID: only.uid });
}

type Cached = { readonly kind: 'status'; readonly status: PodRuntimeStatus } | { readonly kind: 'failed' } | undefined;

/** Every existing container has the hash of the spec's, and all regular ones exist. */
function runsSame(cached: Cached, { spec }: Pod, { containers }: ListedPod): boolean {
  if (cached?.kind !== 'status') return false;
  const newest = (name: string) => cached.status.containers.find((container) => container.name === name);
  const named = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name));
  if (containers.some(({ name }) => !named.has(name))) return false;
  return (
    spec.containers.every((container) => newest(container.name)?.hash === containerHash(container)) &&
    (spec.initContainers ?? []).every((container) => (newest(container.name)?.hash ?? containerHash(container)) === containerHash(container))
  );
}

function translated({ adopted }: AdoptionState, pod: Pod): Pod {
  const fullName = podFullNameOf(pod);
  const known = adopted.get(fullName);
  if (known === undefined) return pod;
  if (known.ownUid !== uidOf(pod)) {
    adopted.delete(fullName);
    return pod;
  }
  if (known.from !== pod) {
    known.from = pod;
    known.pod = withUid(pod, known.uid);
  }
  return known.pod;
}

/** Its UID was made from its manifest. */
function isWithoutUid(pod: Pod): boolean {
  return isOwnGeneratedUid(uidOf(pod)) && pod.metadata.annotations?.[configHashAnnotation] === uidOf(pod);
}

function withUid(pod: Pod, uid: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, uid, annotations: { ...pod.metadata.annotations, [configHashAnnotation]: uid } } };
}
