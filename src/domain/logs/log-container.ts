// The instance of a container for `kubectl logs`: the running or last one, or with `previous` the one before it.
// Messages are the kubelet's, word for word: users and controllers know them.
import type { ContainerStatus, PodStatus } from '../../ports/model/pod-status.js';
import { goQuote } from '../values/go-text.js';

export type LogContainer =
  /** `containerId` as the API has it: `<runtime>://<id>`. */
  { readonly kind: 'found'; readonly containerId: string } | { readonly kind: 'refused'; readonly message: string };

export function containerOfLogs(podName: string, status: PodStatus, containerName: string, previous: boolean): LogContainer {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
  const container = all.find(({ name }) => name === containerName);
  const named = `container ${goQuote(containerName)} in pod ${goQuote(podName)}`;
  if (container === undefined) return { kind: 'refused', message: `${named} is not available` };
  const last = container.lastState?.terminated?.containerID ?? '';
  if (previous) return last === '' ? { kind: 'refused', message: `previous terminated ${named} not found` } : { kind: 'found', containerId: last };
  return chosen(container, last, named);
}

function chosen({ state, containerID }: ContainerStatus, last: string, named: string): LogContainer {
  if (state?.running !== undefined) return { kind: 'found', containerId: containerID ?? '' };
  if (state?.terminated !== undefined) {
    const containerId = (state.terminated.containerID ?? '') === '' ? last : (state.terminated.containerID ?? '');
    return containerId === '' ? { kind: 'refused', message: `${named} is terminated` } : { kind: 'found', containerId };
  }
  if (last !== '') return { kind: 'found', containerId: last };
  if (state?.waiting === undefined) return { kind: 'refused', message: `${named} is waiting to start - no logs yet` };
  return { kind: 'refused', message: `${named} is waiting to start: ${waitingText(state.waiting.reason ?? '')}` };
}

function waitingText(reason: string): string {
  switch (reason) {
    case 'ErrImagePull':
      return "image can't be pulled";
    case 'ImagePullBackOff':
      return 'trying and failing to pull image';
    default:
      return reason;
  }
}
