// Stopping containers: the time line of one kill, and the order within a pod.
import fc from 'fast-check';
import t from 'tap';
import {
  beginContainerKill,
  type ContainerKill,
  type ContainerKillRequest,
  containerKillDeadline,
  containerKillTimedOut,
  preStopEnded,
  stopAnswered,
  stopTimeoutSeconds,
  turnCame,
} from '../../src/domain/pod-sync/container-kill.js';
import { restorePod } from '../../src/domain/pod-sync/restored-pod.js';
import { isTurnToStop, terminationOrder } from '../../src/domain/pod-sync/termination-order.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';

const second = 1_000_000;
const hook = { preStop: { exec: { command: ['true'] } } };

function killOf(graceSeconds: number, more: { readonly hook?: boolean; readonly inOrder?: boolean; readonly override?: number } = {}): ContainerKill {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: [{ name: 'c', ...(more.hook === true ? { lifecycle: hook } : {}) }], terminationGracePeriodSeconds: graceSeconds },
  };
  const request: ContainerKillRequest = {
    ...{ pod, containerName: 'c', containerId: 'containerd://c', reason: '', message: null },
    ...{ gracePeriodOverrideSeconds: more.override ?? null, inOrder: more.inOrder === true },
  };
  const begun = beginContainerKill(request, 0);
  if (begun.kind === 'refused') throw new Error(begun.message);
  return begun.kill;
}

t.test('the time line of a kill', async (t) => {
  const plain = killOf(30);
  t.strictSame([plain.phase, containerKillDeadline(plain), stopTimeoutSeconds(plain)], ['stop', null, 30]);

  const both = killOf(30, { hook: true, inOrder: true });
  t.throws(() => stopTimeoutSeconds(both), /not to be stopped yet/);
  t.equal(containerKillDeadline(both), 30 * second);
  t.equal(preStopEnded(both, false, 12.7 * second), null);
  t.strictSame([both.phase, containerKillDeadline(both)], ['turn', (12.7 + 18) * second], 'a begun second of the hook is not counted');
  turnCame(both, 14.6 * second);
  t.equal(stopTimeoutSeconds(both), 17, 'neither is one of the wait');

  const hanging = killOf(10, { hook: true, inOrder: true });
  containerKillTimedOut(hanging, 9 * second);
  t.equal(hanging.phase, 'preStop', 'too early');
  containerKillTimedOut(hanging, 10 * second);
  t.strictSame([hanging.phase, stopTimeoutSeconds(hanging)], ['stop', 2], 'with the grace period used up there is no waiting for a turn');
  t.equal(preStopEnded(hanging, true, 11 * second), null, 'a hook that was left behind says nothing');

  const failing = killOf(30, { hook: true });
  t.strictSame(preStopEnded(failing, true, 0), { type: 'Warning', reason: 'FailedPreStopHook', message: 'PreStopHook failed' });

  const waiting = killOf(5, { inOrder: true });
  containerKillTimedOut(waiting, 5 * second);
  t.strictSame([waiting.phase, stopTimeoutSeconds(waiting)], ['stop', 2], 'a turn that never comes ends with the grace period');

  const forced = killOf(30, { hook: true, inOrder: true, override: 0 });
  t.strictSame([forced.phase, stopTimeoutSeconds(forced)], ['stop', 2], 'no grace, no hook, no order');
});

t.test('what the runtime answers', async (t) => {
  const answer = (kind: PortErrorKind | null): ContainerKill => {
    const kill = killOf(30);
    stopAnswered(kill, kind === null ? null : { kind, message: 'the text', operation: 'containers.stop', subject: 'c', retryAfterMicros: null });
    return kill;
  };
  t.strictSame([answer(null).error, answer('not-found').error, answer('unavailable').error], [null, null, 'the text']);
  t.throws(() => stopAnswered(answer(null), null), /was not being stopped/);
});

t.test('what is left of a lost pod', async (t) => {
  const labels = { 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.container.name': 'c' };
  const restored = (annotations: Readonly<Record<string, string>>): unknown => {
    const { metadata, spec } = restorePod(labels, annotations);
    return [metadata.deletionGracePeriodSeconds, spec.terminationGracePeriodSeconds, spec.containers[0]?.lifecycle?.preStop];
  };
  t.strictSame(restored({}), [undefined, undefined, undefined]);
  t.strictSame(restored({ 'io.kubernetes.pod.deletionGracePeriod': '0', 'io.kubernetes.pod.terminationGracePeriod': '1.5' }), [0, undefined, undefined]);
  t.strictSame(restored({ 'io.kubernetes.container.preStopHandler': '{"sleep":{"seconds":3}}' }), [undefined, undefined, { sleep: { seconds: 3 } }]);
  for (const text of ['null', '[]', '"x"', '{', '']) t.strictSame(restored({ 'io.kubernetes.container.preStopHandler': text }), [undefined, undefined, undefined], text);
});

t.test('stopping in order always ends', async (t) => {
  const names = { regular: ['c0', 'c1'], init: ['i0', 'i1', 'i2', 'i3'], ephemeral: ['e0'] };
  const anyPod = fc.record({ sidecars: fc.subarray(names.init), running: fc.shuffledSubarray([...names.regular, ...names.init, ...names.ephemeral]) });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyPod, ({ sidecars, running }) => {
        const pod: Pod = {
          metadata: { name: 'p' },
          spec: {
            containers: names.regular.map((name) => ({ name })),
            initContainers: names.init.map((name) => (sidecars.includes(name) ? { name, restartPolicy: 'Always' } : { name })),
            ephemeralContainers: names.ephemeral.map((name) => ({ name })),
          },
        };
        const order = terminationOrder(pod, running);
        const stopped = new Set<string>();
        const stoppedIn = new Map<string, number>();
        for (let wave = 0; stopped.size < running.length; wave++) {
          const due = running.filter((name) => !stopped.has(name) && isTurnToStop(order, name, stopped));
          if (due.length === 0) return false;
          for (const name of due) stoppedIn.set(name, wave);
          for (const name of due) stopped.add(name);
        }
        const wave = (name: string): number => stoppedIn.get(name) ?? -1;
        const runningSidecars = sidecars.filter((name) => running.includes(name));
        const others = running.filter((name) => !sidecars.includes(name));
        return others.every((name) => wave(name) === 0) && runningSidecars.every((name) => names.regular.every((other) => wave(name) > wave(other)));
      }),
      { numRuns: 300 },
    ),
  );
});
