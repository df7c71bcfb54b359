// The name that an image is asked for by: what the pod spec says, with the tag that a bare name stands for.
import { parseImageReference } from './image-reference.js';

export type NormalizedImage = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly message: string };

/** The reference with `:latest` added where it has neither tag nor digest. No registry is ever added. */
export function normalizeImageName(image: string): NormalizedImage {
  const parsed = parseImageReference(image);
  if (parsed === null) return { ok: false, message: `couldn't parse image name ${JSON.stringify(image)}: ${whyNot(image)}` };
  return { ok: true, name: parsed.tag === null && parsed.digest === null ? `${image}:latest` : image };
}

function whyNot(image: string): string {
  if (/^[a-f0-9]{64}$/.test(image)) return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  if (image !== image.toLowerCase() && parseImageReference(image.toLowerCase()) !== null) return 'invalid reference format: repository name must be lowercase';
  return 'invalid reference format';
}
