// The images of all known containers, for metrics.
import type { PodCache } from './pod-cache.js';

/** By the runtime's id of the container. */
export function containerImages({ entries }: Pick<PodCache, 'entries'>): ReadonlyMap<string, string> {
  const images = new Map<string, string>();
  for (const { cached } of entries.values()) if (cached.kind === 'status') for (const { id, image } of cached.status.containers) images.set(id, image);
  return images;
}
