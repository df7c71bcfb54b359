// Names that an image had on the node before the kubelet first pulled its content under another name. The reference verifies by content: the first
// record makes every other name of it unusable without credentials (docs/differences.md). Here such names keep what they had: they are recorded as
// accessible to all pods of the node.
// Invariants: only under NeverVerifyPreloadedImages, and only with the first record of a content; a name with a pull intent was not preloaded.
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { fullImageName, parseImageReference } from '../values/image-reference.js';
import type { ImagePullCredentials, ImagePulledRecord } from './pull-records.js';

export type ImageNames = Pick<RuntimeImage, 'repoTags' | 'repoDigests'>;

/**
 * The first record of a content, with the other names of it.
 * @param image the runtime's names of the content after the pull
 * @param isPulled whether a pull of this full name has begun and its outcome isn't recorded, the one that is being recorded included
 */
export function withPreloadedNames(record: ImagePulledRecord, { repoTags, repoDigests }: ImageNames, isPulled: (fullName: string) => boolean): ImagePulledRecord {
  const pulledRepositories = new Set([...repoTags, ...repoDigests].filter((name) => isPulled(fullImageName(name))).map(repositoryOf));
  const preloaded = new Set([
    ...repoTags.filter((name) => !isPulled(fullImageName(name))).map(repositoryOf),
    // The digest of a repository says nothing of who brought it: only the repository may.
    ...repoDigests.map(repositoryOf).filter((repository) => !pulledRepositories.has(repository) && !Object.hasOwn(record.credentialMapping ?? {}, repository)),
  ]);
  if (preloaded.size === 0) return record;
  const accessible: Record<string, ImagePullCredentials> = {};
  for (const repository of preloaded) accessible[repository] = { nodePodsAccessible: true };
  return { ...record, credentialMapping: { ...record.credentialMapping, ...accessible } };
}

function repositoryOf(name: string): string {
  return parseImageReference(name)?.repository ?? name;
}
