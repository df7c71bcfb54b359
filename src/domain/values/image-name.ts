// Image references as runtimes and registries read them: [registry[:port]/]path[:tag][@algorithm:digest].
// Invariant: a reference that parses is never changed, except that a bare name gets the tag it stands for.

const pathComponent = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const domainComponent = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainComponent}(?:\\.${domainComponent})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
const tag = '[\\w][\\w.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^((?:${domain}/)?${pathComponent}(?:/${pathComponent})*)(?::(${tag}))?(?:@(${digest}))?$`);
const longestName = 255;

export type NormalizedImage = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly message: string };

/** The reference with `:latest` added where it has neither tag nor digest. No registry is ever added. */
export function normalizeImageName(image: string): NormalizedImage {
  const parsed = parse(image);
  if (typeof parsed === 'string') return { ok: false, message: `couldn't parse image name ${JSON.stringify(image)}: ${parsed}` };
  return { ok: true, name: parsed.tagged ? image : `${image}:latest` };
}

function parse(image: string): { readonly tagged: boolean } | string {
  if (/^[a-f0-9]{64}$/.test(image)) return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  const match = reference.exec(image);
  if (match === null) {
    if (reference.exec(image.toLowerCase()) !== null) return 'invalid reference format: repository name must be lowercase';
    return 'invalid reference format';
  }
  if ((match[1] ?? '').length > longestName) return `repository name must not be more than ${longestName} characters`;
  return { tagged: match[2] !== undefined || match[3] !== undefined };
}
