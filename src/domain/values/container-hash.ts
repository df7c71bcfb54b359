// The hash that identifies a running container as the one in its pod's spec.
// It must equal the Go kubelet's bit for bit: a node that changes kubelets would otherwise restart all its containers.
// Invariant: only name and image count; everything else of a container can't change in place, or is resized.
import type { Container } from '../../ports/model/container.js';
import { derived } from './derived.js';
import { fnv1aHash32 } from './fnv.js';
import { utf8Encode } from './utf8.js';

/** Lower-case hexadecimal without padding, as the container's annotation holds it. */
export const containerHash = derived((container: Pick<Container, 'name' | 'image'>): string => {
  const json = escapeAsGo(JSON.stringify({ image: container.image ?? '', name: container.name }));
  // The reference hashes a dump of the JSON's bytes, not the bytes.
  const dump = `([]uint8)[${utf8Encode(json).join(' ')}]`;
  return fnv1aHash32(utf8Encode(dump)).toString(16);
});

/** Characters that Go's JSON encoder escapes beyond JSON.stringify, so that its output is safe in HTML and JavaScript. */
function escapeAsGo(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
