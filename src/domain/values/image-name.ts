// The complete name of an image: the pod spec's, with the default tag of a bare name.
import { goQuote } from './go-text.js';
import { readImageReference } from './image-reference.js';

export type NormalizedImage = { readonly ok: true; readonly name: string; readonly repository: string } | { readonly ok: false; readonly message: string };

/** The reference with `:latest` if it has neither tag nor digest. `name` never gets a registry; `repository` is the full form without tag and digest. */
export function normalizeImageName(image: string): NormalizedImage {
  const parsed = readImageReference(image);
  if (!parsed.ok) return { ok: false, message: `couldn't parse image name ${goQuote(image)}: ${parsed.message}` };
  const { repository, tag, digest } = parsed.reference;
  return { ok: true, name: tag === null && digest === null ? `${image}:latest` : image, repository };
}
