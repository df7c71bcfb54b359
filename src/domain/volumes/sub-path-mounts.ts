// The sub paths of one container: which mounts need one made and bound, and what users are told when that fails.
// Invariant: the messages say no more than the pod's own words; what is in the volume may not be the user's to know.
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

/** In the order of the mounts. Mounts whose sub path is refused are left out: the container's mounts tell why. */
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
