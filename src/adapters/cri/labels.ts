// The labels and annotations by which the kubelet finds its own containers again. Spelled as every CRI tool knows them.

export const podNameLabel = 'io.kubernetes.pod.name';
export const podNamespaceLabel = 'io.kubernetes.pod.namespace';
export const podUidLabel = 'io.kubernetes.pod.uid';
export const containerNameLabel = 'io.kubernetes.container.name';

export const containerHashAnnotation = 'io.kubernetes.container.hash';
export const restartCountAnnotation = 'io.kubernetes.container.restartCount';
export const terminationMessagePathAnnotation = 'io.kubernetes.container.terminationMessagePath';
export const terminationMessagePolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
