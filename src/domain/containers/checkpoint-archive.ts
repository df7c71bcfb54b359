// The container and the archive path of a checkpoint: `<root>/checkpoints/checkpoint-<pod>_<namespace>-<container>-<time>.tar`.
// Invariant: names of pods and containers are validated before, so the archive is directly in that directory.
import type { Instant } from '../../ports/instant.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { instantAfter } from '../values/instant.js';
import { podFullNameOf } from '../values/pod-references.js';
import { joinPath } from '../values/slash-paths.js';
import { formatRfc3339, microsPerSecond } from '../values/time.js';

export function checkpointsDirectory(rootDirectory: string): string {
  return joinPath(rootDirectory, 'checkpoints');
}

/** @param utcOffsetSeconds of the host's local time, in which the name is */
export function checkpointPath(rootDirectory: string, pod: Pod, containerName: string, wall: Instant, utcOffsetSeconds: number): string {
  return joinPath(checkpointsDirectory(rootDirectory), `checkpoint-${podFullNameOf(pod)}-${containerName}-${localTime(wall, utcOffsetSeconds)}.tar`);
}

/** Whether the pod's spec has such a container, of any kind. */
export function hasContainer({ spec }: Pod, containerName: string): boolean {
  return [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].some(({ name }) => name === containerName);
}

/** The one that runs; null: none does. */
export function runningContainerId(status: PodRuntimeStatus | null, containerName: string): string | null {
  return status?.containers.find(({ name, state }) => name === containerName && state === 'running')?.id ?? null;
}

/** RFC 3339 in whole seconds with the zone's offset; UTC is `Z`. */
function localTime(wall: Instant, utcOffsetSeconds: number): string {
  const local = formatRfc3339(instantAfter(wall, utcOffsetSeconds * microsPerSecond));
  if (utcOffsetSeconds === 0) return local;
  const minutes = Math.abs(Math.trunc(utcOffsetSeconds / 60));
  const two = (value: number) => String(value).padStart(2, '0');
  return `${local.slice(0, -1)}${utcOffsetSeconds < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
