// The labels and annotations by which a kubelet recognizes its containers, after its own restart and after another kubelet's.
// Spelled as all CRI tools know them.
import type { AnnotatedPreStop } from '../../ports/model/runtime-status.js';

export const containerLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const containerAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
} as const;

/** The field of that name in a container's runtime status; empty without a hook in the annotations. */
export function annotatedPreStop(annotations: Readonly<Record<string, string>>): { readonly preStop?: AnnotatedPreStop } {
  const handler = annotations[containerAnnotations.preStopHandler];
  return handler === undefined ? {} : { preStop: { handler, ports: annotations[containerAnnotations.ports] ?? '' } };
}
