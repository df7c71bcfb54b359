// Whether a pod tolerates a node's taints.
import type { Taint } from '../../ports/model/node.js';
import type { Toleration } from '../../ports/model/pod.js';

/** An empty effect or key of the toleration matches any. Operators other than Equal and Exists tolerate nothing. */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator === '' || operator === 'Equal') && value === (taint.value ?? '');
}

/** The first taint of one of these effects that no toleration covers; null if none. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[], effects: readonly string[]): Taint | null {
  return taints.find((taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => toleratesTaint(toleration, taint))) ?? null;
}
