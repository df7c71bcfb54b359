// The labels and annotations of a Go kubelet of v1.36 on the sandboxes and containers of a static pod, written by hand from its documentation and from
// recordings: the take-over of a node must not depend on this agent agreeing with itself.

export interface GoPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface GoContainer {
  readonly name: string;
  readonly image: string;
  readonly restartCount: number;
  readonly gracePeriodSeconds: number;
}

const podLabels = ({ name, namespace, uid }: GoPod) => ({ 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.namespace': namespace, 'io.kubernetes.pod.uid': uid });

export function goSandboxMetadata(pod: GoPod) {
  return {
    labels: podLabels(pod),
    annotations: { 'kubernetes.io/config.hash': pod.uid, 'kubernetes.io/config.seen': '2026-01-01T00:00:00.000000000Z', 'kubernetes.io/config.source': 'file' },
  };
}

export function goContainerMetadata(pod: GoPod, { name, image, restartCount, gracePeriodSeconds }: GoContainer) {
  return {
    labels: { ...podLabels(pod), 'io.kubernetes.container.name': name },
    annotations: {
      'io.kubernetes.container.hash': goContainerHash(name, image),
      'io.kubernetes.container.restartCount': String(restartCount),
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': String(gracePeriodSeconds),
    },
  };
}

/** FNV-1a of 32 bits over Go's dump of the bytes of a JSON object with image and name. */
export function goContainerHash(name: string, image: string): string {
  const json = `{"image":"${image}","name":"${name}"}`;
  const dump = `([]uint8)[${[...Buffer.from(json)].join(' ')}]`;
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(dump)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  return hash.toString(16);
}
