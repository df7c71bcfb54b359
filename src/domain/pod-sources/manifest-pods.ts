// Converts one manifest's content to its pods and to log lines about it.
// Invariant: every problem is one line that names the file (or URL) and, if known, the field.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ManifestContent } from '../../ports/outbound/manifests.js';
import { decodeManifest, type ManifestContext } from './decode-manifest.js';

export type ManifestPods =
  | { readonly kind: 'pods'; readonly pods: readonly Pod[]; readonly notes: readonly string[] }
  | { readonly kind: 'rejected'; readonly message: string; readonly isParsed: boolean }
  | { readonly kind: 'skipped'; readonly message: string }
  | { readonly kind: 'absent' };

const shownUnknownFields = 10;

export function podsOfManifest(content: ManifestContent, context: ManifestContext): ManifestPods {
  switch (content.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'skipped':
      return { kind: 'skipped', message: oneLine(content.message) };
    case 'unreadable':
      return { kind: 'rejected', message: oneLine(content.message), isParsed: false };
    case 'document':
      break;
  }
  const decoded = decodeManifest(content.value, context);
  if (!decoded.ok) return { kind: 'rejected', message: oneLine(decoded.rejection.message), isParsed: decoded.rejection.kind !== 'unparsable' };
  const notes = content.notes.map(oneLine);
  if (decoded.unknownFields.length > 0) notes.push(unknownFieldsNote(decoded.unknownFields));
  return { kind: 'pods', pods: decoded.pods.map(withResources), notes };
}

/** As in the API, each container has the field, and with it the status of the container. */
function withResources(pod: Pod): Pod {
  const { initContainers, containers } = pod.spec;
  const filled = (container: Container): Container => (container.resources === undefined ? { ...container, resources: {} } : container);
  const init = initContainers === undefined ? {} : { initContainers: initContainers.map(filled) };
  return { ...pod, spec: { ...pod.spec, ...init, containers: containers.map(filled) } };
}

function unknownFieldsNote(fields: readonly string[]): string {
  const more = fields.length - shownUnknownFields;
  const shown = fields.slice(0, shownUnknownFields).join(', ');
  return oneLine(`unknown ${fields.length === 1 ? 'field is' : 'fields are'} ignored: ${shown}${more > 0 ? ` and ${more} more` : ''}`);
}

/** Makes one line of any parser's message. */
export function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
}
