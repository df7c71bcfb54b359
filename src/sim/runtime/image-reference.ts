// An image reference as runtimes store it: with registry, repository, tag or digest written out.

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
  const match = /^([^@]+?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(text);
  const name = match?.[1];
  if (name === undefined || !/^[a-zA-Z0-9][\w./:-]*$/.test(name)) return null;
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const hasRegistry = first.includes('.') || first.includes(':') || first === 'localhost';
  const registry = hasRegistry ? first : 'docker.io';
  const path = hasRegistry ? name.slice(slash + 1) : name;
  if (!/^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/.test(path)) return null;
  const repository = `${registry}/${!hasRegistry && slash < 0 ? 'library/' : ''}${path}`;
  const digest = match?.[3] ?? null;
  const tag = match?.[2] ?? (digest === null ? 'latest' : null);
  return { repository, registry, tag, digest, text: `${repository}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}` };
}
