// The tag of an image reference, by the grammar of the distribution project: `[domain/]path[:tag][@algorithm:digest]`.

const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const domain = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?';
const digestAlgorithm = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*';
const reference = new RegExp(`^(?:(${domain})/)?(${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(${digestAlgorithm}:[0-9a-fA-F]{32,}))?$`);
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
/** Longer texts are no image anyone can pull, and regular expressions shouldn't see them. */
const maxReferenceLength = 1024;
const maxNameLength = 255;

export interface ImageReference {
  /** Domain and path, as written. */
  readonly name: string;
  /** Null when none is written. */
  readonly tag: string | null;
  readonly digest: string | null;
}

/** Null when the text is no image reference. */
export function parseImageReference(text: string): ImageReference | null {
  if (text.length > maxReferenceLength || /^[a-f0-9]{64}$/.test(text)) return null;
  const match = reference.exec(text);
  if (match === null) return null;
  const [, registry, path, tag, digest] = match;
  if (path === undefined || path.length > maxNameLength || !isKnownDigest(digest)) return null;
  return { name: registry === undefined ? path : `${registry}/${path}`, tag: tag ?? null, digest: digest ?? null };
}

/** The tag that is pulled: `latest` where neither tag nor digest is written, empty for a digest alone or no reference at all. */
export function effectiveImageTag(text: string): string {
  const parsed = parseImageReference(text);
  if (parsed === null) return '';
  return parsed.tag ?? (parsed.digest === null ? 'latest' : '');
}

function isKnownDigest(digest: string | undefined): boolean {
  if (digest === undefined) return true;
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = digestLengths[algorithm];
  return length !== undefined && hex.length === length && hex === hex.toLowerCase();
}
