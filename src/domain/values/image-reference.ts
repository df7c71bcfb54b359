// Image references by the grammar of the distribution project, `[domain/]path[:tag][@algorithm:digest]`, and the full form of a short name.
// Invariant: pure and total; a text that is no reference is an answer, in the words that users see in a pod's status.

const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const label = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const domainText = `(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const digestAlgorithm = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*';
const qualified = new RegExp(`^(${domainText})/(${component}(?:/${component})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(${digestAlgorithm}:[0-9a-fA-F]{32,}))?$`);
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const maxNameLength = 255;
/** Longer texts can't hold a path that is short enough, and regular expressions shouldn't see them. */
const maxReferenceLength = 4096;
const tooLong = 'repository name must not be more than 255 characters';

export const defaultRegistry = 'docker.io';
/** The former name of the default registry; it reads as the new name. */
const legacyDefaultRegistry = 'index.docker.io';

export interface ImageReference {
  /** Domain and path, as written. */
  readonly name: string;
  /** Domain and path of the full form: `busybox` is `docker.io/library/busybox`. */
  readonly repository: string;
  /** Null when none is written. */
  readonly tag: string | null;
  readonly digest: string | null;
}

export type ImageReferenceParse = { readonly ok: true; readonly reference: ImageReference } | { readonly ok: false; readonly message: string };

/** The parts of a reference, or the distribution project's reason why the text is none. */
export function readImageReference(text: string): ImageReferenceParse {
  if (text.length > maxReferenceLength) return refused(tooLong);
  if (/^[a-f0-9]{64}$/.test(text)) return refused(`invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`);
  const { domain, remainder } = splitDomain(text);
  const path = remainder.split(':', 1)[0]!;
  if (path !== path.toLowerCase()) return refused(`invalid reference format: repository name (${path}) must be lowercase`);
  const match = qualified.exec(`${domain}/${remainder}`);
  if (match === null) return refused('invalid reference format');
  const [, , matchedPath = '', tag, digest] = match;
  if (matchedPath.length > maxNameLength) return refused(tooLong);
  const digestProblem = digest === undefined ? null : problemOfDigest(digest);
  if (digestProblem !== null) return refused(digestProblem);
  const suffix = (tag === undefined ? 0 : tag.length + 1) + (digest === undefined ? 0 : digest.length + 1);
  return {
    ok: true,
    reference: { name: text.slice(0, text.length - suffix), repository: `${domain}/${matchedPath}`, tag: tag ?? null, digest: digest ?? null },
  };
}

/** Null when the text is no image reference. */
export function parseImageReference(text: string): ImageReference | null {
  const parsed = readImageReference(text);
  return parsed.ok ? parsed.reference : null;
}

/** The tag that is pulled: `latest` where neither tag nor digest is written, empty for a digest alone or no reference at all. */
export function effectiveImageTag(text: string): string {
  const parsed = parseImageReference(text);
  if (parsed === null) return '';
  return parsed.tag ?? (parsed.digest === null ? 'latest' : '');
}

/** The part before the first `/` is a registry if it can't be a user's name; a single name belongs to the default registry's library. */
function splitDomain(text: string): { readonly domain: string; readonly remainder: string } {
  const slash = text.indexOf('/');
  const first = slash < 0 ? '' : text.slice(0, slash);
  const isRegistry = slash >= 0 && (first === 'localhost' || /[.:]/.test(first) || first !== first.toLowerCase());
  const domain = !isRegistry || first === legacyDefaultRegistry ? defaultRegistry : first;
  const remainder = isRegistry ? text.slice(slash + 1) : text;
  return { domain, remainder: domain === defaultRegistry && !remainder.includes('/') ? `library/${remainder}` : remainder };
}

function problemOfDigest(digest: string): string | null {
  const colon = digest.indexOf(':');
  const hex = digest.slice(colon + 1);
  const algorithm = digest.slice(0, colon);
  const length = Object.hasOwn(digestLengths, algorithm) ? digestLengths[algorithm] : undefined;
  if (length === undefined) return 'unsupported digest algorithm';
  if (hex.length !== length) return 'invalid checksum digest length';
  return hex === hex.toLowerCase() ? null : 'invalid checksum digest format';
}

function refused(message: string): ImageReferenceParse {
  return { ok: false, message };
}

/** With the tag that stands for none; a text that is no name as it is. */
export function fullImageName(text: string): string {
  const reference = parseImageReference(text);
  if (reference === null) return text;
  return reference.digest === null ? `${reference.repository}:${effectiveImageTag(text)}` : `${reference.repository}@${reference.digest}`;
}
