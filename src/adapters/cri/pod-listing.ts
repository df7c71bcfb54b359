// Converts the two list answers to a RuntimeListing, at the cost of the changes since the last pair.
// Invariants: a sandbox, container, pod or the whole list of pods that did not change is the same object as before, so that a
// consumer may compare by identity first; an item without an id, or with the id of another pod's item, is kept in its pod, whose inspection names it.

import { containerLabels } from '../../domain/values/container-labels.js';
import { newestAttemptFirst } from '../../domain/values/newest-first.js';
import type { ListedContainer, ListedPod, ListedSandbox } from '../../ports/model/runtime-listing.js';
import { Container, PodSandbox, PodSandboxState } from './gen/cri-runtime-v1.js';
import { containerLayout, sandboxLayout, walkItems } from './list-items.js';
import { containerStateFromCri, instantOfNanos } from './values-from-cri.js';

interface PodIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

interface Entry<Item> {
  /** null: carries no pod labels. */
  readonly pod: PodIdentity | null;
  readonly wireState: number;
  readonly item: Item;
  /** The images of a container without pod labels. */
  readonly images: readonly string[];
}

interface Group {
  readonly pod: PodIdentity;
  readonly sandboxes: ListedSandbox[];
  readonly containers: ListedContainer[];
}

/** No id of a runtime begins so. */
const oddKey = '\0';

export class PodListing {
  private sandboxBytes: Buffer | null = null;
  private containerBytes: Buffer | null = null;
  private sandboxes = new Map<string, Entry<ListedSandbox>>();
  private containers = new Map<string, Entry<ListedContainer>>();
  private readonly byUid = new Map<string, ListedPod>();
  pods: readonly ListedPod[] = [];
  foreign = 0;
  foreignImages: readonly string[] = [];

  /** Takes the bytes of a ListPodSandboxResponse and a ListContainersResponse. Throws on malformed bytes, and is then as before. */
  update(sandboxBytes: Buffer, containerBytes: Buffer): void {
    if (this.sandboxBytes?.equals(sandboxBytes) === true && this.containerBytes?.equals(containerBytes) === true) return;
    const changed = new Set<string>();
    const sandboxes = nextEntries(
      this.sandboxes,
      changed,
      (visit) => walkItems(sandboxBytes, sandboxLayout, visit),
      (start, end) => decodeSandbox(sandboxBytes.subarray(start, end)),
    );
    const containers = nextEntries(
      this.containers,
      changed,
      (visit) => walkItems(containerBytes, containerLayout, visit),
      (start, end) => decodeContainer(containerBytes.subarray(start, end)),
    );
    this.sandboxBytes = sandboxBytes;
    this.containerBytes = containerBytes;
    if (sandboxes === null && containers === null) return;
    this.sandboxes = sandboxes ?? this.sandboxes;
    this.containers = containers ?? this.containers;
    this.regroup(changed);
  }

  pod(uid: string): ListedPod | null {
    return this.byUid.get(uid) ?? null;
  }

  /** @param changed uids of the pods with an added, changed or removed object: only these are grouped and sorted again */
  private regroup(changed: ReadonlySet<string>): void {
    const groups = new Map<string, Group>();
    let foreign = 0;
    const foreignImages = new Set<string>();
    for (const { pod, item } of this.sandboxes.values()) {
      if (pod === null) foreign++;
      else if (changed.has(pod.uid)) groupOf(groups, pod).sandboxes.push(item);
    }
    for (const { pod, item, images } of this.containers.values()) {
      if (pod === null) {
        foreign++;
        for (const image of images) foreignImages.add(image);
      } else if (changed.has(pod.uid)) groupOf(groups, pod).containers.push(item);
    }
    const fresh: ListedPod[] = [];
    for (const uid of changed) {
      const group = groups.get(uid);
      if (group === undefined) {
        this.byUid.delete(uid);
        continue;
      }
      const pod = podOf(group, this.byUid.get(uid));
      this.byUid.set(uid, pod);
      fresh.push(pod);
    }
    this.pods = merged(
      this.pods.filter(({ uid }) => !changed.has(uid)),
      fresh.sort((a, b) => compareText(a.uid, b.uid)),
    );
    this.foreign = foreign;
    this.foreignImages = [...foreignImages];
  }
}

/** Two lists in the order of uids, as one. */
function merged(kept: readonly ListedPod[], fresh: readonly ListedPod[]): ListedPod[] {
  const pods: ListedPod[] = [];
  let next = 0;
  for (const pod of kept) {
    for (let other = fresh[next]; other !== undefined && compareText(other.uid, pod.uid) < 0; other = fresh[++next]) pods.push(other);
    pods.push(pod);
  }
  pods.push(...fresh.slice(next));
  return pods;
}

/** The entries of an answer, by their ids, or null when every one is as before. Adds to `changedPods` whose have changed. */
function nextEntries<Item>(
  before: ReadonlyMap<string, Entry<Item>>,
  changedPods: Set<string>,
  walk: (visit: (id: string, state: number, start: number, end: number) => void) => void,
  decode: (start: number, end: number) => Entry<Item>,
): Map<string, Entry<Item>> | null {
  const after = new Map<string, Entry<Item>>();
  let kept = 0;
  let changed = false;
  let isOdd = false;
  const note = (entry: Entry<Item> | undefined): void => {
    if (entry?.pod != null) changedPods.add(entry.pod.uid);
  };
  walk((id, state, start, end) => {
    if (id === '' || after.has(id)) {
      isOdd = true;
      const odd = decode(start, end);
      // The same item twice is one item.
      if (id !== '' && after.get(id)?.pod?.uid === odd.pod?.uid) return;
      changed = true;
      note(odd);
      after.set(`${oddKey}${start}`, odd);
      return;
    }
    const known = before.get(id);
    if (known !== undefined && known.wireState === state) {
      kept++;
      after.set(id, known);
      return;
    }
    changed = true;
    const entry = decode(start, end);
    note(known);
    note(entry);
    after.set(id, entry);
  });
  if (isOdd && before.size > 0) {
    // Its ids don't say which item is which: none is as before.
    for (const entry of before.values()) note(entry);
    return nextEntries(new Map(), changedPods, walk, decode);
  }
  if (!changed && after.size === before.size) return null;
  if (kept < before.size) for (const [id, entry] of before) if (!after.has(id)) note(entry);
  return after;
}

function decodeSandbox(bytes: Buffer): Entry<ListedSandbox> {
  const sandbox = PodSandbox.decode(bytes);
  const item: ListedSandbox = {
    id: sandbox.id,
    state: sandbox.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    attempt: sandbox.metadata?.attempt ?? 0,
    createdAt: instantOfNanos(sandbox.createdAt),
  };
  return { pod: podIdentityOf(sandbox.labels), wireState: sandbox.state, item, images: [] };
}

function decodeContainer(bytes: Buffer): Entry<ListedContainer> {
  const container = Container.decode(bytes);
  const item: ListedContainer = {
    id: container.id,
    name: container.labels[containerLabels.containerName] ?? container.metadata?.name ?? '',
    state: containerStateFromCri(container.state),
    sandboxId: container.podSandboxId,
    attempt: container.metadata?.attempt ?? 0,
    createdAt: instantOfNanos(container.createdAt),
  };
  const pod = podIdentityOf(container.labels);
  const images = pod === null ? [container.image?.image ?? '', container.imageRef, container.imageId].filter((image) => image !== '') : [];
  return { pod, wireState: container.state, item, images };
}

function podIdentityOf(labels: Readonly<Record<string, string>>): PodIdentity | null {
  const uid = labels[containerLabels.podUid];
  return uid === undefined || uid === '' ? null : { uid, name: labels[containerLabels.podName] ?? '', namespace: labels[containerLabels.podNamespace] ?? '' };
}

function groupOf(groups: Map<string, Group>, pod: PodIdentity): Group {
  let group = groups.get(pod.uid);
  if (group === undefined) {
    group = { pod, sandboxes: [], containers: [] };
    groups.set(pod.uid, group);
  }
  return group;
}

function podOf(group: Group, before: ListedPod | undefined): ListedPod {
  group.sandboxes.sort(newestAttemptFirst);
  group.containers.sort(newestAttemptFirst);
  if (before !== undefined && sameItems(before.sandboxes, group.sandboxes) && sameItems(before.containers, group.containers)) return before;
  return { ...group.pod, sandboxes: group.sandboxes, containers: group.containers };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
