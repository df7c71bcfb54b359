// Selectors for embedders: labels, node affinity, taints.
import type { Taint } from '../../ports/model/node.js';
import type { LabelSelector } from '../../ports/model/object-meta.js';
import type { Pod, Toleration } from '../../ports/model/pod.js';
import type { Labels } from '../values/label-requirement.js';
import * as labelSelector from '../values/label-selector.js';
import * as nodeAffinity from '../values/node-affinity.js';
import * as tolerations from '../values/tolerations.js';
import { labelSelectorShape, labelsShape, podShape, taintShape, tolerationShape } from './api-object-shapes.js';
import { checkArgument, listOf, nullable, text } from './shape.js';

/**
 * Whether a label selector (meta/v1 LabelSelector) selects an object with these labels. null selects nothing, an empty one everything, one
 * that is malformed nothing.
 * @throws AssertionFailed where an argument has another type
 */
export function matchesLabelSelector(selector: LabelSelector | null, labels: Labels): boolean {
  checkArgument('selector', selector, nullable(labelSelectorShape));
  checkArgument('labels', labels, labelsShape);
  return labelSelector.matchesLabelSelector(selector, labels);
}

/**
 * Whether a node is one that a pod may run on, by `nodeSelector` and required node affinity; preferences don't count.
 * @throws AssertionFailed where an argument has another type
 */
export function matchesNodeAffinity(pod: Pod, nodeName: string, nodeLabels: Labels): boolean {
  checkArgument('pod', pod, podShape);
  checkArgument('nodeName', nodeName, text);
  checkArgument('nodeLabels', nodeLabels, labelsShape);
  return nodeAffinity.matchesNodeAffinity(pod, nodeName, nodeLabels);
}

/**
 * The first taint of one of these effects that no toleration covers, as in core/v1; null if none.
 * @param effects `NoSchedule`, `PreferNoSchedule`, `NoExecute`; the kubelet's own admission uses only `NoExecute`
 * @throws AssertionFailed where an argument has another type
 */
export function untoleratedTaint(taints: readonly Taint[], podTolerations: readonly Toleration[], effects: readonly string[]): Taint | null {
  checkArgument('taints', taints, listOf(taintShape));
  checkArgument('podTolerations', podTolerations, listOf(tolerationShape));
  checkArgument('effects', effects, listOf(text));
  return tolerations.untoleratedTaint(taints, podTolerations, effects);
}
