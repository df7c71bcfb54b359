// What must not change on a node while kubelets come and go: containers, readiness, mounts.
import { readFileSync } from 'node:fs';
import type { Json } from './admin-client.js';
import type { PeerStand } from './peer-stand.js';

/** A pod's containers by name, with id and count of restarts, and since when it is ready. */
export interface Lasting {
  readonly containers: Readonly<Record<string, string>>;
  readonly readySince: string | null;
}

/** By pod name, of all pods in the namespace. */
export async function lastingOf(stand: PeerStand, selector = ''): Promise<Record<string, Lasting>> {
  return Object.fromEntries((await stand.pods(selector)).map((pod: Json) => [pod.metadata.name, ofPod(pod)]));
}

function ofPod({ status }: Json): Lasting {
  const all: Json[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
  const ready = (status.conditions ?? []).find((one: Json) => one.type === 'Ready');
  return {
    containers: Object.fromEntries(all.map(({ name, containerID, restartCount }) => [name, `${containerID} restarted ${restartCount}`])),
    readySince: ready?.status === 'True' ? ready.lastTransitionTime : null,
  };
}

/** Mountpoints below the kubelet's directory, each as often as it is mounted over. */
export function mountsOf(stand: PeerStand): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((place) => place.startsWith(`${stand.root}/`))
    .sort();
}
