// The stop signal of a container in its status: the runtime's, if the gate ContainerStopSignals is enabled.

import t from 'tap';
import { type ContainerKind, type ContainerStatusesInput, containerStatuses } from '../../src/domain/status/container-statuses.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';
import type { ContainerRuntimeState, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';

function instance(id: string, state: ContainerRuntimeState, stopSignal: string | null): RuntimeContainerStatus {
  return {
    ...{
      id,
      sandboxId: 's',
      name: 'c',
      state,
      createdAt: instantOf(1),
      startedAt: state === 'created' ? null : instantOf(2),
      finishedAt: state === 'exited' ? instantOf(3) : null,
    },
    ...{ exitCode: 0, reason: '', message: '', restartCount: 0, hash: '', image: 'i', imageRef: 'i', imageId: '', resources: null, user: null },
    ...(stopSignal === null ? {} : { stopSignal }),
  };
}

interface Row {
  readonly sentence: string;
  readonly gate?: boolean;
  readonly kind?: ContainerKind;
  readonly instances: readonly RuntimeContainerStatus[];
  readonly previous?: ContainerStatus;
  readonly expected: string | undefined;
}

const before: ContainerStatus = { name: 'c', ready: true, restartCount: 0, image: 'i', imageID: 'i', containerID: 'r://old', state: { running: {} }, stopSignal: 'SIGUSR1' };
const running = (signal: string | null): readonly RuntimeContainerStatus[] => [instance('a', 'running', signal)];

const rows: readonly Row[] = [
  { sentence: 'running', instances: running('SIGINT'), expected: 'SIGINT' },
  { sentence: 'a signal with an offset', instances: running('SIGRTMIN+3'), expected: 'SIGRTMIN+3' },
  { sentence: 'the gate is off', gate: false, instances: running('SIGINT'), expected: undefined },
  { sentence: 'a runtime that tells nothing', instances: running(null), expected: undefined },
  { sentence: 'a sidecar', kind: 'init', instances: running('SIGQUIT'), expected: 'SIGQUIT' },
  { sentence: 'an ephemeral container', kind: 'ephemeral', instances: running('SIGHUP'), expected: 'SIGHUP' },
  { sentence: 'created, not started', instances: [instance('a', 'created', 'SIGINT')], expected: 'SIGINT' },
  { sentence: 'ended', instances: [instance('a', 'exited', 'SIGINT')], expected: 'SIGINT' },
  { sentence: 'no instance yet', instances: [], expected: undefined },
  { sentence: 'of two instances the newest tells', instances: [instance('b', 'running', 'SIGTERM'), instance('a', 'exited', 'SIGINT')], expected: 'SIGTERM' },
  { sentence: 'what was told before of another container says nothing', instances: running(null), previous: before, expected: undefined },
  { sentence: 'what was told before while the gate was on', gate: false, instances: running('SIGUSR1'), previous: before, expected: undefined },
  {
    sentence: 'an ended container that the runtime has removed keeps what was told',
    instances: [],
    previous: { ...before, state: { terminated: { exitCode: 0 } } },
    expected: 'SIGUSR1',
  },
];

t.test('the stop signal in a container status', async (t) => {
  for (const { sentence, gate = true, kind = 'regular', instances, previous, expected } of rows) {
    const container = { name: 'c', image: 'i' };
    const lists = { regular: { containers: [container] }, init: { containers: [], initContainers: [container] }, ephemeral: { containers: [], ephemeralContainers: [container] } };
    const input: ContainerStatusesInput = {
      pod: { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: lists[kind] },
      runtime: { uid: 'u', name: 'p', namespace: 'n', ips: [], sandboxes: [], containers: instances, observedAt: 4 },
      kind,
      previous: previous === undefined ? [] : [previous],
      startFailures: new Map(),
      restartingAll: false,
      runtimeSupportsRecursiveReadOnly: false,
      containerStopSignals: gate,
      runtimeType: 'r',
    };
    const [status] = containerStatuses(input);
    t.equal(status?.stopSignal, expected, sentence);
    t.equal(status === undefined ? true : Object.hasOwn(status, 'stopSignal'), expected !== undefined, `${sentence}: absent is left out`);
  }
});
