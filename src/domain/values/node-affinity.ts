// Whether a node is one that a pod may run on, by `nodeSelector` and required node affinity.
// Invariant: terms are alternatives, the expressions of a term must all hold; an empty term, an empty list and a malformed term match nothing.
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../ports/model/pod.js';
import { type Labels, matchesLabelRequirements } from './label-requirement.js';
import { matchesLabelSet } from './label-selector.js';

/** @param nodeName the one field that `matchFields` knows, as `metadata.name` */
export function matchesNodeAffinity(pod: Pod, nodeName: string, nodeLabels: Labels): boolean {
  if (!matchesLabelSet(pod.spec.nodeSelector ?? {}, nodeLabels)) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, nodeName, nodeLabels));
}

export function matchesNodeSelectorTerm(term: NodeSelectorTerm, nodeName: string, nodeLabels: Labels): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return matchesLabelRequirements(matchExpressions, nodeLabels) === true && matchFields.every((requirement) => matchesField(requirement, nodeName));
}

/** A field that a node doesn't have reads as the empty text. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, nodeName: string): boolean {
  const field = key === 'metadata.name' ? nodeName : '';
  if (values.length !== 1) return false;
  if (operator === 'In') return field === values[0];
  return operator === 'NotIn' && field !== values[0];
}
