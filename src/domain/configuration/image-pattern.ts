// Entries of preloadedImagesVerificationAllowlist: an image name without tag and digest, or a prefix that ends in `/*`.
// Invariant: the first problem of a pattern only, in the words that name the pattern.

const domainComponent = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainComponent}(?:\\.${domainComponent})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathComponent = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const reference = new RegExp(
  `^(?:(${domain})/)?(${pathComponent}(?:/${pathComponent})*)(:[\\w][\\w.-]{0,127})?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);

/** null when the pattern is good. */
export function allowlistPatternProblem(pattern: string): string | null {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isPrefix = pattern.endsWith('/*');
  const rest = isPrefix ? pattern.slice(0, -1) : pattern;
  if (rest === '') return `the supplied pattern is too short: ${pattern}`;
  if (rest.includes('*')) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isPrefix) return rest.length === 1 ? 'at least registry hostname is required' : null;
  const normalized = normalizedName(rest);
  if (normalized === null) return 'failed to parse as an image name: invalid reference format';
  return normalized === rest ? null : `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

/** The full name, registry first, without tag and digest; null for a text that is no image reference. */
function normalizedName(image: string): string | null {
  if (/^[a-f0-9]{64}$/.test(image)) return null;
  const slash = image.indexOf('/');
  const first = slash < 0 ? '' : image.slice(0, slash);
  const hasRegistry = slash >= 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const registry = !hasRegistry || first === 'index.docker.io' ? 'docker.io' : first;
  const remainder = hasRegistry ? image.slice(slash + 1) : image;
  const path = registry === 'docker.io' && !remainder.includes('/') ? `library/${remainder}` : remainder;
  const match = reference.exec(`${registry}/${path}`);
  return match === null ? null : `${registry}/${match[2]}`;
}
