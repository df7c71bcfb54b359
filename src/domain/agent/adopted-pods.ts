// Static pods that another kubelet started are adopted without a restart. A manifest without a UID gets one from its content, and every kubelet
// generates its own: so a pod of this node's runtime with the full name of a static pod, a UID that another kubelet generated, and the same
// containers (by the hash annotation of all kubelets) is that pod, and keeps its UID for as long as the manifest is unchanged.
//
// Pods from sources are held until the first listing of the runtime, which shows the running pods.
// Invariants: only the first set of a source adopts; a changed manifest loses the UID, and its pod is replaced as any static pod is.
import type { Pod } from '../../ports/model/pod.js';
import type { ListedPod } from '../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { PodSource } from '../pod-sources/pod-config.js';
import { configHashAnnotation } from '../pod-sources/static-pod-defaults.js';
import { containerHash } from '../values/container-hash.js';
import { isGeneratedUid, isOwnGeneratedUid } from '../values/generated-uid.js';
import { podFullName, podFullNameOf } from '../values/pod-references.js';
import type { AdoptionState } from './adoption-state.js';
import type { AgentContext } from './agent-context.js';
import { uidOf } from './pod-index.js';

/** The pods of a source under the UIDs by which they are run; null: they are held back. */
export function adopted(context: AgentContext, source: PodSource, pods: readonly Pod[]): readonly Pod[] | null {
  const { adoption } = context.state;
  if (source === 'api') return pods;
  const isFirst = !adoption.begun.has(source);
  if (isFirst && !isRuntimeKnown(context, pods)) {
    adoption.held.set(source, pods);
    return null;
  }
  adoption.begun.add(source);
  if (isFirst) for (const pod of pods) adopt(context, pod);
  return adoption.adopted.size === 0 ? pods : pods.map((pod) => translated(adoption, pod));
}

/** Sets that were held back and can be taken in now. */
export function releasedSets(context: AgentContext): (readonly [PodSource, readonly Pod[]])[] {
  const { held } = context.state.adoption;
  const released = [...held].filter(([, pods]) => isRuntimeKnown(context, pods));
  for (const [source] of released) held.delete(source);
  return released;
}

/** Whether it is known of each pod what runs under its name and another UID. */
function isRuntimeKnown({ state }: AgentContext, pods: readonly Pod[]): boolean {
  const { cache, relist } = state;
  if (cache.globalTime === null) return false;
  const uids = new Map(pods.filter(isWithoutUid).map((pod) => [podFullNameOf(pod), uidOf(pod)]));
  const listed = relist.newest?.pods ?? [];
  return listed.every(({ uid, name, namespace }) => {
    const own = uids.get(podFullName(name, namespace));
    return own === undefined || own === uid || cache.entries.get(uid)?.cached.kind === 'status';
  });
}

function adopt({ state, turn }: AgentContext, pod: Pod): void {
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

/** Every container that is there has the hash of the spec's, and the regular ones are all there. */
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
