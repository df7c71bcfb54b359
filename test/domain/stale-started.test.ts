// `started` of a container that the runtime has replaced does not count for the container that took its place.
import t from 'tap';
import { withoutStaleStarted } from '../../src/domain/status/stale-started.js';
import type { ContainerStatus, PodStatus } from '../../src/ports/model/pod-status.js';
import type { PodRuntimeStatus } from '../../src/ports/model/runtime-status.js';

const reported = (name: string, id: string, started?: boolean): ContainerStatus =>
  ({ name, containerID: `containerd://${id}`, ready: true, restartCount: 0, image: 'i', imageID: 'i', ...(started === undefined ? {} : { started }) }) as ContainerStatus;
const runtime = (...containers: readonly (readonly [name: string, id: string])[]): PodRuntimeStatus =>
  ({ containers: containers.map(([name, id]) => ({ name, id, state: 'running' })) }) as unknown as PodRuntimeStatus;

t.test('the status stays as it is where no started container was replaced', async (t) => {
  const statuses: readonly PodStatus[] = [
    {},
    { containerStatuses: [reported('c', '1', true)] },
    { containerStatuses: [reported('c', '0', false), reported('gone', '7', true)] },
    { initContainerStatuses: [reported('side', '2', true)] },
  ];
  for (const status of statuses) t.equal(withoutStaleStarted(status, runtime(['c', '1'], ['side', '2'])), status);
});

t.test('a replaced container loses `started`, its neighbours and everything else stay', async (t) => {
  const before: PodStatus = { phase: 'Running', containerStatuses: [reported('c', '0', true), reported('d', '5', true)], initContainerStatuses: [reported('side', '1', true)] };
  const after = withoutStaleStarted(before, runtime(['c', '1'], ['c', '0'], ['d', '5'], ['side', '2']));
  t.strictSame(after, { phase: 'Running', containerStatuses: [reported('c', '0'), reported('d', '5', true)], initContainerStatuses: [reported('side', '1')] });
});
