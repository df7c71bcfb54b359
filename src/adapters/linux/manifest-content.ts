// Bytes of a manifest, from a file or a URL, to its content.
import type { ManifestContent } from '../../ports/outbound/manifests.js';
import { decodeText } from '../text/index.js';
import { parseYaml } from '../yaml/index.js';

/** Of a manifest file and of a body. */
export const maxManifestBytes = 10 * 1024 * 1024;

const shownKeys = 5;

export function manifestContentOf(bytes: Uint8Array): ManifestContent {
  if (bytes.byteLength > maxManifestBytes) return { kind: 'unreadable', message: tooLargeMessage };
  const document = parseYaml(bytes);
  if (!document.ok) {
    const place = document.line > 0 ? ` (line ${document.line}, column ${document.column})` : '';
    return { kind: 'unreadable', message: `${document.message}${place}` };
  }
  const repeated = document.duplicateKeys.filter(({ isMerged }) => !isMerged);
  const notes = repeated.slice(0, shownKeys).map(({ path, line }) => `${path} is set more than once, the value of line ${line} is used`);
  const more = repeated.length - shownKeys;
  if (more > 0) notes.push(`${more} more fields are set more than once`);
  if (document.format === 'yaml' && hasSecondDocument(bytes)) notes.push('only the first of several documents is read');
  return { kind: 'document', value: document.value, notes };
}

export const tooLargeMessage = `larger than ${maxManifestBytes / 1024 / 1024} MiB, which is the limit of a manifest`;

/** A document marker after the first content, with something behind it. */
function hasSecondDocument(bytes: Uint8Array): boolean {
  const decoded = decodeText(bytes);
  const text = decoded.ok ? decoded.text.replace(/^\ufeff/gm, '') : '';
  const [, ...others] = text.replace(/^(\s|#[^\n]*\n|%[^\n]*\n)*(---(?=\s|$))?/, '').split(/^---(?=\s|$)/m);
  return others.some((other) => /^\s*[^\s#]/m.test(other));
}
