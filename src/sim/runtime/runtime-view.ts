// The views of a simulated runtime's state: the cheap list and the full inspection of a pod.
// Invariant: pods that did not change since the last list are the same objects, as in the list of the real adapter.
import { annotatedPreStop, containerAnnotations, containerLabels } from '../../domain/values/container-labels.js';
import { derived } from '../../domain/values/derived.js';
import { instantOf } from '../../domain/values/instant.js';
import { newestAttemptFirst } from '../../domain/values/newest-first.js';
import { resourcesInStatus } from '../../domain/values/resources-in-status.js';
import type { Micros } from '../../ports/micros.js';
import type { ListedContainer, ListedPod, RuntimeListing } from '../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus, RuntimeContainerStatus, SandboxStatus } from '../../ports/model/runtime-status.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { SimContainer, SimRuntimeState, SimSandbox } from './runtime-state.js';

interface PodParts {
  readonly sandboxes: SimSandbox[];
  readonly containers: SimContainer[];
}

export class RuntimeView {
  /** What belongs to a pod; '' holds what carries no pod label. Kept by `added` and `removed`. */
  private readonly parts = new Map<string, PodParts>();
  private readonly bySandbox = new Map<string, Set<SimContainer>>();
  private readonly listed = new Map<string, ListedPod>();
  private pods: readonly ListedPod[] | null = null;

  constructor(private readonly state: SimRuntimeState) {
    for (const sandbox of state.sandboxes.values()) this.sandboxAdded(sandbox);
    for (const container of state.containers.values()) this.containerAdded(container);
  }

  sandboxAdded(sandbox: SimSandbox): void {
    const uid = uidOf(sandbox);
    this.partsOf(uid).sandboxes.push(sandbox);
    this.changed(uid);
  }

  containerAdded(container: SimContainer): void {
    this.partsOf(container.podUid).containers.push(container);
    const siblings = this.bySandbox.get(container.sandboxId);
    if (siblings === undefined) this.bySandbox.set(container.sandboxId, new Set([container]));
    else siblings.add(container);
    this.changed(container.podUid);
  }

  sandboxRemoved(sandbox: SimSandbox): void {
    const uid = uidOf(sandbox);
    take(this.partsOf(uid).sandboxes, sandbox);
    this.changed(uid);
  }

  containerRemoved(container: SimContainer): void {
    take(this.partsOf(container.podUid).containers, container);
    const siblings = this.bySandbox.get(container.sandboxId);
    siblings?.delete(container);
    if (siblings?.size === 0) this.bySandbox.delete(container.sandboxId);
    this.changed(container.podUid);
  }

  /** Something of the pod has another state now. */
  changed(uid: string): void {
    this.listed.delete(uid);
    this.pods = null;
    const parts = this.parts.get(uid);
    if (parts !== undefined && parts.sandboxes.length === 0 && parts.containers.length === 0) this.parts.delete(uid);
  }

  list(uid: string | null, observedAt: Micros): RuntimeListing {
    if (uid !== null) return { observedAt, pods: uid === '' ? [] : this.podsOf(uid), foreign: 0, foreignImages: [] };
    const foreign = this.parts.get('');
    this.pods ??= [...this.parts.keys()].sort().flatMap((each) => (each === '' ? [] : this.podsOf(each)));
    const foreignImages = [...new Set(foreign?.containers.flatMap(({ config, imageRef, imageId }) => [config.image.image, imageRef, imageId]))];
    return { observedAt, pods: this.pods, foreign: foreign === undefined ? 0 : foreign.sandboxes.length + foreign.containers.length, foreignImages };
  }

  /** By sandbox and not by pod: the labels of a container are its creator's, and may name another pod. */
  containersOf(sandboxId: string): SimContainer[] {
    return [...(this.bySandbox.get(sandboxId) ?? [])];
  }

  private podsOf(uid: string): ListedPod[] {
    let pod = this.listed.get(uid);
    if (pod === undefined) {
      const parts = this.parts.get(uid);
      if (parts === undefined) return [];
      pod = listedPod(uid, parts);
      this.listed.set(uid, pod);
    }
    return [pod];
  }

  inspect(uid: string, observedAt: Micros): PodRuntimeStatus | null {
    const parts = uid === '' ? undefined : this.parts.get(uid);
    if (parts === undefined) return null;
    const { name, namespace } = nameOf(parts);
    const sandboxes = parts.sandboxes.map(sandboxStatus).sort(newestAttemptFirst);
    const newest = sandboxes[0];
    const ips = newest?.state === 'ready' && newest.ip !== null && newest.ip !== '' ? [newest.ip] : [];
    const containers = parts.containers
      .toSorted((a, b) => newestAttemptFirst(listedContainer(a), listedContainer(b)))
      .map((container) => containerStatus(container, this.state.images.get(container.imageId)));
    return { uid, name, namespace, ips, sandboxes, containers, observedAt };
  }

  private partsOf(uid: string): PodParts {
    let parts = this.parts.get(uid);
    if (parts === undefined) {
      parts = { sandboxes: [], containers: [] };
      this.parts.set(uid, parts);
    }
    return parts;
  }
}

const reported = derived(resourcesInStatus);

function uidOf(sandbox: SimSandbox): string {
  return sandbox.config.labels[containerLabels.podUid] ?? '';
}

function take<T>(items: T[], item: T): void {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
}

function nameOf({ sandboxes, containers }: PodParts): { readonly name: string; readonly namespace: string } {
  const metadata = sandboxes[0]?.config.metadata;
  if (metadata !== undefined) return { name: metadata.name, namespace: metadata.namespace };
  const labels = containers[0]?.config.labels ?? {};
  return { name: labels[containerLabels.podName] ?? '', namespace: labels[containerLabels.podNamespace] ?? '' };
}

function listedPod(uid: string, parts: PodParts): ListedPod {
  const sandboxes = parts.sandboxes.map(({ id, state, config, stamp }) => ({ id, state, attempt: config.metadata.attempt, createdAt: stamp }));
  const containers = parts.containers.map(listedContainer);
  return { uid, ...nameOf(parts), sandboxes: sandboxes.sort(newestAttemptFirst), containers: containers.sort(newestAttemptFirst) };
}

function nameInSpec({ labels, metadata }: SimContainer['config']): string {
  return labels[containerLabels.containerName] ?? metadata.name;
}

function listedContainer({ id, config, state, sandboxId, stamps: { createdAt } }: SimContainer): ListedContainer {
  return { id, name: nameInSpec(config), state, sandboxId, attempt: config.metadata.attempt, createdAt };
}

function sandboxStatus({ id, state, config, stamp, ip }: SimSandbox): SandboxStatus {
  const networkMode = config.linux?.securityContext?.namespaceOptions?.network === 'NODE' ? 'node' : 'pod';
  return { id, attempt: config.metadata.attempt, state, networkMode, hasNetwork: true, ip, createdAt: stamp };
}

function containerStatus(container: SimContainer, image: RuntimeImage | undefined): RuntimeContainerStatus {
  const { id, sandboxId, config, state, resources } = container;
  const { createdAt, startedAt, finishedAt } = container.stamps;
  const ending = state === 'exited' ? container.ending : null;
  const restarts = config.annotations[containerAnnotations.restartCount];
  return {
    id,
    sandboxId,
    name: nameInSpec(config),
    state,
    createdAt,
    startedAt: state === 'created' ? null : (startedAt ?? instantOf(0)),
    finishedAt,
    exitCode: ending?.exitCode ?? 0,
    reason: ending?.reason ?? '',
    message: ending?.message ?? '',
    restartCount: restarts !== undefined && /^\d{1,10}$/.test(restarts) ? Number(restarts) : 0,
    hash: config.annotations[containerAnnotations.hash] ?? '',
    image: image?.repoTags[0] ?? config.image.image,
    imageRef: container.imageRef,
    imageId: container.imageId,
    resources: resources === null ? null : reported(resources),
    user: null,
    ...(config.stopSignal === undefined ? {} : { stopSignal: config.stopSignal }),
    ...annotatedPreStop(config.annotations),
  };
}
