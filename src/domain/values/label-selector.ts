// metav1.LabelSelector over an object's labels.
import type { LabelSelector } from '../../ports/model/object-meta.js';
import { type Labels, matchesLabelRequirements } from './label-requirement.js';

/** An absent selector selects nothing, an empty one everything, a malformed one nothing. */
export function matchesLabelSelector(selector: LabelSelector | null | undefined, labels: Labels): boolean {
  if (selector === null || selector === undefined) return false;
  return matchesLabelSet(selector.matchLabels ?? {}, labels) && matchesLabelRequirements(selector.matchExpressions ?? [], labels) === true;
}

/** Whether each label of `wanted` is present with that value, as in a pod's `nodeSelector`. */
export function matchesLabelSet(wanted: Labels, labels: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}
