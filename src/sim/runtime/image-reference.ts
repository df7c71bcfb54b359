// An image reference as runtimes store it: with registry, repository, tag or digest written out.
import * as references from '../../domain/values/image-reference.js';

export interface ImageReference {
  /** `docker.io/library/busybox` */
  readonly repository: string;
  readonly registry: string;
  readonly tag: string | null;
  readonly digest: string | null;
  /** All of it: `docker.io/library/busybox:latest`. */
  readonly text: string;
}

/** null: not a reference. */
export function parseImageReference(text: string): ImageReference | null {
  const parsed = references.parseImageReference(text);
  if (parsed === null) return null;
  const { repository, digest } = parsed;
  const tag = parsed.tag ?? (digest === null ? 'latest' : null);
  const registry = repository.slice(0, repository.indexOf('/'));
  return { repository, registry, tag, digest, text: `${repository}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}` };
}
