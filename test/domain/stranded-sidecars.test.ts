// A sidecar that was created and can't start any more: what its pod still has to do decides whether it counts as ended.
import t from 'tap';
import { withLostSidecarsEnded, withStrandedSidecarsEnded } from '../../src/domain/status/stranded-sidecars.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStatus } from '../../src/ports/model/pod-status.js';
import type { ContainerRuntimeState, PodRuntimeStatus } from '../../src/ports/model/runtime-status.js';

const podWithSidecar = (restartPolicy: string): Pod => ({
  metadata: { name: 'p' },
  spec: {
    restartPolicy,
    initContainers: [
      { name: 'i', image: 'x' },
      { name: 's', image: 'x', restartPolicy: 'Always' },
    ],
    containers: [{ name: 'c', image: 'x' }],
  },
});
type Instance = readonly [name: string, state: ContainerRuntimeState, exitCode?: number];
const runtime = (isReady: boolean, ...containers: readonly Instance[]): PodRuntimeStatus =>
  ({
    sandboxes: [{ state: isReady ? 'ready' : 'notReady' }],
    containers: containers.map(([name, state, exitCode = 0]) => ({ name, state, exitCode, startedAt: null, finishedAt: null, reason: '', message: '' })),
  }) as unknown as PodRuntimeStatus;
const reported = (exitCode: number): PodStatus => ({ containerStatuses: [{ name: 'c', state: { terminated: { exitCode } } }] }) as unknown as PodStatus;

const rows: readonly (readonly [sentence: string, policy: string, runtime: PodRuntimeStatus, previous: PodStatus, isStranded: boolean])[] = [
  ['all regular containers have ended for good', 'OnFailure', runtime(false, ['s', 'created'], ['c', 'exited']), {}, true],
  ['the end of one was reported, and the runtime has forgotten it', 'OnFailure', runtime(false, ['s', 'created']), reported(0), true],
  ['a pod that is never restarted', 'Never', runtime(false, ['s', 'created'], ['c', 'exited', 3]), {}, true],
  ['the sandbox is ready', 'OnFailure', runtime(true, ['s', 'created'], ['c', 'exited']), {}, false],
  ['one failed and runs again', 'OnFailure', runtime(false, ['s', 'created'], ['c', 'exited', 1]), {}, false],
  ['a pod that is always restarted', 'Always', runtime(false, ['s', 'created'], ['c', 'exited']), {}, false],
  ['one never ran', 'Never', runtime(false, ['s', 'created']), {}, false],
  ['one still runs', 'Never', runtime(false, ['s', 'created'], ['c', 'running']), {}, false],
  ['a plain init container was created', 'Never', runtime(false, ['i', 'created'], ['c', 'exited']), {}, false],
  ['the sidecar has ended by itself', 'Never', runtime(false, ['s', 'exited', 1], ['c', 'exited']), {}, false],
];
for (const [sentence, policy, seen, previous, isStranded] of rows) {
  t.test(sentence, async (t) => {
    const got = withStrandedSidecarsEnded(podWithSidecar(policy), seen, previous);
    if (!isStranded) t.equal(got, seen, 'the same object');
    else t.match(got.containers[0], { name: 's', state: 'exited', exitCode: 137, reason: 'ContainerStatusUnknown' });
  });
}

const lost: readonly (readonly [sentence: string, policy: string, runtime: PodRuntimeStatus, previous: PodStatus, isLost: boolean])[] = [
  ['it was never created', 'OnFailure', runtime(false, ['c', 'exited']), {}, true],
  ['and the end of the other was only reported', 'OnFailure', runtime(false), reported(0), true],
  ['the runtime has it', 'OnFailure', runtime(false, ['s', 'created'], ['c', 'exited']), {}, false],
  [
    'its end is known',
    'OnFailure',
    runtime(false, ['c', 'exited']),
    { initContainerStatuses: [{ name: 's', state: { terminated: { exitCode: 0 } } }] } as unknown as PodStatus,
    false,
  ],
  ['the sandbox is ready', 'OnFailure', runtime(true, ['c', 'exited']), {}, false],
  ['the other runs again', 'OnFailure', runtime(false, ['c', 'exited', 1]), {}, false],
  ['nothing ran yet', 'Never', runtime(false), {}, false],
];
for (const [sentence, policy, seen, previous, isLost] of lost) {
  t.test(`a sidecar that the runtime has nothing of: ${sentence}`, async (t) => {
    const got = withLostSidecarsEnded(podWithSidecar(policy), seen, previous);
    if (!isLost) t.equal(got, previous, 'the same object');
    else t.match(got.initContainerStatuses, [{ name: 's', state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } }]);
    t.equal(got.containerStatuses, previous.containerStatuses);
  });
}
