// Garbage collection of containers, sandboxes and logs beyond the vectors.

import fc from 'fast-check';
import t from 'tap';
import {
  type ContainerGcContext,
  containersToCollect,
  logDirectoriesToCollect,
  mayRemoveDanglingLogLink,
  type PodGcState,
  sandboxesToCollect,
} from '../../src/domain/gc/container-gc.js';
import { allDeadContainers, deadContainersAfterDeath } from '../../src/domain/gc/dead-containers.js';
import { emptyPodStatus } from '../../src/domain/pod-cache/pod-cache.js';
import { epochMicros, instantOf } from '../../src/domain/values/instant.js';
import type { ListedContainer, ListedPod } from '../../src/ports/model/runtime-listing.js';
import type { ContainerRuntimeState, PodRuntimeStatus, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';

const now = 20;
const context = (state: PodGcState, allSourcesReady = true, removeForTerminatedPods = false): ContainerGcContext => ({
  podState: () => state,
  allSourcesReady,
  removeForTerminatedPods,
  ageOf: (_uid, { createdAt }) => now - epochMicros(createdAt),
});
const container = (id: string, name: string, state: ContainerRuntimeState, createdAt: number): ListedContainer => ({
  id,
  name,
  state,
  sandboxId: 's',
  attempt: createdAt,
  createdAt: instantOf(createdAt),
});

t.test('links to logs that are not there', async (t) => {
  const id = '0123456789abcdef';
  const pods = (state: ContainerRuntimeState): ListedPod[] => [{ uid: 'u', name: 'p', namespace: 'n', sandboxes: [], containers: [container(id, 'c', state, 0)] }];
  const rows: readonly (readonly [string, string, ListedPod[], boolean])[] = [
    ['the container is gone', `/var/log/containers/p_n_c-${id}.log`, [], true],
    ['it has exited', `/var/log/containers/p_n_c-${id}.log`, pods('exited'), true],
    ['it runs, so its log is being rotated', `/var/log/containers/p_n_c-${id}.log`, pods('running'), false],
    ['also when the id in the name was cut off', `/var/log/containers/p_n_c-${id.slice(0, 8)}.log`, pods('running'), false],
    ['a name without an id', '/var/log/containers/p_n_c-abc.log', pods('running'), true],
  ];
  for (const [name, path, listed, expected] of rows) t.equal(mayRemoveDanglingLogLink(path, listed), expected, name);
});

t.test('log directories wait until all sources are ready', async (t) => {
  t.strictSame(logDirectoriesToCollect(['n_p_u'], context('removed', false)), []);
  t.strictSame(logDirectoriesToCollect(['n_p_u', 'u'], context('removed')), ['n_p_u', 'u']);
  t.strictSame(logDirectoriesToCollect(['n_p_u'], context('terminated', true, true)), []);
});

t.test('after a death', async (t) => {
  const status = (id: string, name: string, state: ContainerRuntimeState, createdAt: number): RuntimeContainerStatus => ({
    ...{ id, name, state, createdAt: instantOf(createdAt), sandboxId: 's', startedAt: null, finishedAt: null, exitCode: 0, reason: '', message: '', restartCount: 0, hash: '' },
    ...{ image: '', imageRef: '', imageId: '', resources: null, user: null },
  });
  const pod: PodRuntimeStatus = {
    ...emptyPodStatus('u'),
    containers: [status('c3', 'c', 'exited', 3), status('c1', 'c', 'exited', 1), status('c2', 'c', 'exited', 2), status('c0', 'c', 'unknown', 0), status('d1', 'd', 'exited', 1)],
  };
  t.strictSame(deadContainersAfterDeath(pod, 'c3', 1), ['c2', 'c1']);
  t.strictSame(deadContainersAfterDeath(pod, 'c3', 0), ['c2', 'c1'], 'the newest stays even where the policy keeps none');
  t.strictSame(deadContainersAfterDeath(pod, 'c3', 2), ['c1']);
  t.strictSame(deadContainersAfterDeath(pod, 'gone', 1), [], 'a container that the cache no longer has');
  t.strictSame(allDeadContainers(pod), ['c3', 'c2', 'c1', 'd1']);
});

t.test('properties', async (t) => {
  const anyContainer = fc.record({
    name: fc.constantFrom('c', 'd'),
    state: fc.constantFrom<ContainerRuntimeState>('created', 'running', 'exited', 'unknown'),
    createdAt: fc.nat(20),
  });
  const anySandbox = fc.record({ state: fc.constantFrom('ready' as const, 'notReady' as const), createdAt: fc.nat(20) });
  const anyPod = fc.record({ containers: fc.array(anyContainer, { maxLength: 6 }), sandboxes: fc.array(anySandbox, { maxLength: 3 }) });
  const anyPods = fc.array(anyPod, { maxLength: 4 }).map((pods) =>
    pods.map(
      (pod, p): ListedPod => ({
        ...{ uid: `u${p}`, name: '', namespace: '' },
        sandboxes: pod.sandboxes.map(({ createdAt, ...sandbox }, i) => ({ ...sandbox, createdAt: instantOf(createdAt), id: `s${p}-${i}`, attempt: 0 })),
        containers: pod.containers.map(({ createdAt, ...item }, i) => ({
          ...item,
          createdAt: instantOf(createdAt),
          attempt: createdAt,
          id: `k${p}-${i}`,
          sandboxId: `s${p}-${i % 3}`,
        })),
      }),
    ),
  );
  const policies = fc.record({ minAge: fc.nat(10), maxPerPodContainer: fc.integer({ min: -1, max: 2 }), maxContainers: fc.integer({ min: -1, max: 6 }) });
  const contexts = fc
    .record({ state: fc.constantFrom<PodGcState>('running', 'terminated', 'removed'), ready: fc.boolean(), remove: fc.boolean() })
    .map(({ state, ready, remove }) => context(state, ready, remove));
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyPods, policies, contexts, (pods, policy, gc) => {
        const all = new Map(pods.flatMap((pod) => pod.containers).map((item) => [item.id, item]));
        const collected = containersToCollect(pods, policy, gc);
        const goes = new Set(collected.map(({ id }) => id));
        const old = [...all.values()].filter((item) => item.state !== 'running' && epochMicros(item.createdAt) <= now - policy.minAge);
        const kept = old.filter(({ id }) => !goes.has(id));
        return (
          goes.size === collected.length &&
          [...goes].every((id) => old.some((item) => item.id === id)) &&
          collected.every(({ id, stopFirst }) => stopFirst === (all.get(id)?.state === 'unknown')) &&
          (policy.maxContainers < 0 || kept.length <= policy.maxContainers) &&
          // Of one name in one pod, what stays is at least as new as what goes.
          kept.every((stays) => collected.every(({ id }) => id[1] !== stays.id[1] || all.get(id)?.name !== stays.name || (all.get(id)?.createdAt ?? 0) <= stays.createdAt))
        );
      }),
      { numRuns: 1000 },
    ),
  );
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyPods, contexts, (pods, gc) => {
        const goes = new Set(sandboxesToCollect(pods, gc));
        return pods.every((pod) => {
          const owners = new Set(pod.containers.map(({ sandboxId }) => sandboxId));
          const safe = pod.sandboxes.filter(({ id, state }) => state === 'ready' || owners.has(id));
          return safe.every(({ id }) => !goes.has(id)) && (pod.sandboxes.length === 0 || gc.podState(pod.uid) !== 'running' || pod.sandboxes.some(({ id }) => !goes.has(id)));
        });
      }),
      { numRuns: 500 },
    ),
  );
});
