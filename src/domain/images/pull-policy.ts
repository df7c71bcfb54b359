// The pull policy that the API gives a container without one.
import { effectiveImageTag } from '../values/image-reference.js';

/** An image that moves under its tag is pulled each time; anything else, even a text that is no reference, only when it is missing. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  return effectiveImageTag(image) === 'latest' ? 'Always' : 'IfNotPresent';
}
