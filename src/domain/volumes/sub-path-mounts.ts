// The sub paths of one container: which mounts need one created and bound, and the messages of failures.
// Invariant: the messages contain only the pod's own words; the volume's content may be confidential.
import type { Container } from '../../ports/model/container.js';
import type { EnvVariable } from '../containers/env-expansion.js';
import { subPathOf } from '../containers/mounts.js';
import { goQuote } from '../values/go-text.js';

/** One mount of a container that shows a part of its volume. */
export interface SubPathUse {
  /** In the container's `volumeMounts`. */
  readonly index: number;
  readonly volumeName: string;
  readonly subPath: string;
}

/** In the order of the mounts. Omits mounts with a refused sub path: the container's mounts report it. */
export function subPathUses(container: Container, env: readonly EnvVariable[]): readonly SubPathUse[] {
  return (container.volumeMounts ?? []).flatMap((mount, index) => {
    const subPath = subPathOf(mount, env);
    return subPath.ok && subPath.value !== '' ? [{ index, volumeName: mount.name, subPath: subPath.value }] : [];
  });
}

export function subPathDirectoryFailure(volumeName: string, containerName: string): string {
  return `failed to create subPath directory for volumeMount ${goQuote(volumeName)} of container ${goQuote(containerName)}`;
}

export function subPathMountFailure(volumeName: string, containerName: string): string {
  return `failed to prepare subPath for volumeMount ${goQuote(volumeName)} of container ${goQuote(containerName)}`;
}
