// The images that the node's status lists, so that schedulers can prefer nodes that have a pod's images.
// Invariant: the order is total, so that an unchanged set of images is no change of the status.
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { byCodeUnits } from '../values/text-order.js';

export interface NodeImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

type ListedImage = Pick<RuntimeImage, 'id' | 'repoTags' | 'repoDigests' | 'sizeBytes'>;

const namesMax = 5;

/** The largest first; of one size by id, descending. */
export function imagesBySize<Image extends ListedImage>(images: readonly Image[]): readonly Image[] {
  return [...images].sort((a, b) => b.sizeBytes - a.sizeBytes || byCodeUnits(b.id, a.id));
}

/** The first images, with their digests before their tags. @param sorted largest first @param max -1: all */
export function nodeImages(sorted: readonly ListedImage[], max: number): readonly NodeImage[] {
  const listed = max < 0 ? sorted : sorted.slice(0, max);
  return listed.map(({ repoDigests, repoTags, sizeBytes }) => ({ names: [...repoDigests, ...repoTags].slice(0, namesMax), sizeBytes }));
}
