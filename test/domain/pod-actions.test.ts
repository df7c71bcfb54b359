// Pod actions beyond the vectors: situations as sentences, and invariants for any pod and any runtime.

import fc from 'fast-check';
import t from 'tap';
import { computePodActions, mayStartContainers } from '../../src/domain/pod-sync/pod-actions.js';
import type { PodActions, PodActionsInput } from '../../src/domain/pod-sync/pod-actions-types.js';
import type { ProbeResult } from '../../src/domain/status/probe-state.js';
import { containerHash } from '../../src/domain/values/container-hash.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod, PodSpec } from '../../src/ports/model/pod.js';
import type { ContainerRuntimeState, RuntimeContainerStatus, SandboxStatus } from '../../src/ports/model/runtime-status.js';

const image = 'app:1';
const always = { restartPolicy: 'Always' };
const probe = { exec: { command: ['true'] } };

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image, ...more };
}
/** `c0 running`, `c1 exited 3`, `i0 exited 0 OOMKilled`; the hash is the one of `image`. */
function status(text: string, id = `${text.split(' ')[0]}-id`): RuntimeContainerStatus {
  const [name = '', state, exitCode, reason] = text.split(' ');
  return {
    ...{ id, name, state: state as ContainerRuntimeState, exitCode: Number(exitCode ?? 0), reason: reason ?? '', hash: containerHash({ name, image }) },
    ...{ sandboxId: 's', createdAt: instantOf(0), startedAt: null, finishedAt: null, message: '', restartCount: 0, image, imageRef: '', imageId: '', resources: null, user: null },
  };
}
function sandbox(more: Partial<SandboxStatus> = {}): SandboxStatus {
  return { id: 's', attempt: 0, state: 'ready', networkMode: 'pod', hasNetwork: true, ip: '10.0.0.1', createdAt: instantOf(0), ...more };
}
interface Situation {
  readonly spec?: Partial<PodSpec>;
  readonly deleted?: boolean;
  readonly sandboxes?: readonly SandboxStatus[];
  readonly statuses?: readonly (string | RuntimeContainerStatus)[];
  readonly liveness?: Readonly<Record<string, ProbeResult>>;
  readonly startup?: Readonly<Record<string, ProbeResult>>;
  readonly restartAll?: boolean;
}
const threeRegular = { containers: [container('c0'), container('c1'), container('c2')] };
const threeInit = { ...threeRegular, initContainers: [container('i0'), container('i1'), container('i2')] };
const threeSidecars = { ...threeRegular, initContainers: [container('i0', always), container('i1', always), container('i2', always)] };

function inputOf({ spec = {}, deleted = false, sandboxes = [sandbox()], statuses = [], liveness = {}, startup = {}, restartAll = false }: Situation): PodActionsInput {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u', ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
    spec: { ...threeRegular, restartPolicy: 'Always', ...spec },
  };
  return {
    pod,
    status: { uid: 'u', name: 'p', namespace: 'n', ips: [], sandboxes, containers: statuses.map((item) => (typeof item === 'string' ? status(item) : item)), observedAt: 0 },
    restartAllContainers: restartAll,
    livenessResults: new Map(Object.entries(liveness)),
    startupResults: new Map(Object.entries(startup)),
    actuated: { containers: new Map(), pod: null },
  };
}
/** In words: `kill-pod create-sandbox init:0 start:0,1 kill:c1-id`. */
function told(actions: PodActions): string {
  const list = (name: string, items: readonly (number | string)[]): string[] => (items.length === 0 ? [] : [`${name}:${items.join(',')}`]);
  return [
    ...(actions.killPod ? ['kill-pod'] : []),
    ...(actions.createSandbox ? [`create-sandbox:${actions.attempt}`] : []),
    ...list('init', actions.initContainersToStart),
    ...list('start', actions.containersToStart),
    ...list('ephemeral', actions.ephemeralContainersToStart),
    ...list(
      'kill',
      actions.containersToKill.map(({ id }) => id),
    ),
    ...list(
      'reset',
      actions.containersToReset.map(({ id, kill }) => `${id}${kill ? '!' : ''}`),
    ),
  ].join(' ');
}

const running = ['c0 running', 'c1 running', 'c2 running'];
const exited = ['c0 exited 0', 'c1 exited 0', 'c2 exited 0'];
const dead = sandbox({ state: 'notReady' });
const situations: readonly (readonly [string, Situation, string])[] = [
  ['nothing there yet', { sandboxes: [] }, 'kill-pod create-sandbox:0 start:0,1,2'],
  ['all run', { statuses: running }, ''],
  [
    'a hash with capital letters and leading zeros is the same hash',
    { statuses: [{ ...status('c0 running'), hash: `00${status('c0 running').hash.toUpperCase()}` }, 'c1 running', 'c2 running'] },
    '',
  ],
  ['a hash that can not be read is another definition', { statuses: [{ ...status('c0 running'), hash: '0x1z' }, 'c1 running', 'c2 running'] }, 'start:0 kill:c0-id'],
  [
    'a missing hash is another definition, even where nothing restarts',
    { spec: { restartPolicy: 'Never' }, statuses: [{ ...status('c0 running'), hash: '' }, 'c1 running', 'c2 running'] },
    'start:0 kill:c0-id',
  ],
  ['OnFailure starts what failed', { spec: { restartPolicy: 'OnFailure' }, statuses: ['c0 exited 0', 'c1 exited 111', 'c2 running'] }, 'start:1'],
  ['Never, all ended', { spec: { restartPolicy: 'Never' }, statuses: exited }, 'kill-pod'],
  ['Never, one unknown', { spec: { restartPolicy: 'Never' }, statuses: ['c0 running', 'c1 unknown', 'c2 running'] }, 'start:1 kill:c1-id'],
  ['a deleted pod restarts nothing', { deleted: true, statuses: ['c0 exited 1', 'c1 running'] }, ''],
  ['a dead sandbox is replaced', { sandboxes: [dead], statuses: running }, 'kill-pod create-sandbox:1 start:0,1,2'],
  ['Never: a dead sandbox of a pod that ran is not replaced', { spec: { restartPolicy: 'Never' }, sandboxes: [dead], statuses: exited }, 'kill-pod'],
  [
    'Never: a sandbox that died before any container was made is',
    { spec: { restartPolicy: 'Never' }, sandboxes: [sandbox({ state: 'notReady', attempt: 2 })] },
    'kill-pod create-sandbox:3 start:0,1,2',
  ],
  ['OnFailure: a dead sandbox of a pod whose work is done is not replaced', { spec: { restartPolicy: 'OnFailure' }, sandboxes: [dead], statuses: exited }, 'kill-pod'],
  [
    'OnFailure: only what is not done starts in the new sandbox',
    { spec: { restartPolicy: 'OnFailure' }, sandboxes: [dead], statuses: ['c0 exited 1', 'c1 exited 0'] },
    'kill-pod create-sandbox:1 start:0,2',
  ],
  [
    'an unknown container in a dead sandbox has not done its work',
    { spec: { restartPolicy: 'OnFailure' }, sandboxes: [dead], statuses: ['c0 unknown'] },
    'kill-pod create-sandbox:1 start:0,1,2',
  ],
  ['a sandbox without an address', { sandboxes: [sandbox({ ip: '' })], statuses: running }, 'kill-pod create-sandbox:1 start:0,1,2'],
  ['a host-network sandbox has none', { spec: { hostNetwork: true }, sandboxes: [sandbox({ ip: '', networkMode: 'node' })], statuses: running }, ''],
  ['two ready sandboxes', { sandboxes: [sandbox({ id: 't', attempt: 4 }), sandbox()], statuses: running }, 'kill-pod create-sandbox:5 start:0,1,2'],
  ['init containers begin with the first', { spec: threeInit }, 'init:0'],
  ['the last one runs, the others left no trace', { spec: threeInit, statuses: ['i2 running'] }, ''],
  ['the last one failed', { spec: threeInit, statuses: ['i2 exited 137'] }, 'init:2'],
  ['the last one failed for good', { spec: { ...threeInit, restartPolicy: 'Never' }, statuses: ['i2 exited 137'] }, 'kill-pod'],
  ['killed for memory is a failure, whatever the exit code', { spec: threeInit, statuses: ['i1 exited 0 OOMKilled'] }, 'init:1'],
  ['all done', { spec: threeInit, statuses: ['i2 exited 0'] }, 'start:0,1,2'],
  ['after a reboot, exited regular containers prove nothing', { spec: threeInit, statuses: exited }, 'init:0'],
  ['but a running one does, though the init containers are forgotten', { spec: threeInit, statuses: ['c0 running', 'c1 exited 1', 'c2 running'] }, 'start:1'],
  ['a running sidecar lets the next one start', { spec: threeSidecars, statuses: ['i0 running'] }, 'init:1'],
  [
    'unless its startup probe has not answered',
    { spec: { ...threeSidecars, initContainers: [container('i0', { ...always, startupProbe: probe }), container('i1', always)] }, statuses: ['i0 running'] },
    '',
  ],
  [
    'a sidecar restarts in a pod that never does',
    { spec: { ...threeSidecars, restartPolicy: 'Never' }, statuses: [...running, 'i0 running', 'i1 running', 'i2 exited 137'] },
    'init:2',
  ],
  ['sidecars do not keep a finished pod', { spec: { ...threeSidecars, restartPolicy: 'Never' }, statuses: [...exited, 'i0 exited 1', 'i1 running', 'i2 running'] }, 'kill-pod'],
  ['a sidecar that ended before the regular ones began', { spec: threeSidecars, statuses: ['i0 exited 0', 'i1 running', 'i2 running'] }, 'init:0 start:0,1,2'],
  [
    'a killed sidecar holds up no regular container',
    { spec: { ...threeSidecars, initContainers: [container('i0', { ...always, livenessProbe: probe })] }, statuses: ['i0 running'], liveness: { 'i0-id': 'failure' } },
    'init:0 start:0,1,2 kill:i0-id',
  ],
  ['a result without a probe kills a regular container', { statuses: running, liveness: { 'c1-id': 'failure' } }, 'start:1 kill:c1-id'],
  [
    'but no sidecar',
    { spec: threeSidecars, statuses: [...running, 'i0 running', 'i1 running', 'i2 running'], liveness: { 'i1-id': 'failure' }, startup: { 'i2-id': 'failure' } },
    '',
  ],
  [
    'results of an older instance say nothing about the newer',
    { statuses: [status('c0 running', 'new'), status('c0 exited 1', 'old'), 'c1 running', 'c2 running'], liveness: { old: 'failure' } },
    '',
  ],
  ['ephemeral containers start once', { spec: { ephemeralContainers: [container('e0'), container('e1')] }, statuses: [...running, 'e0 exited 1'] }, 'ephemeral:1'],
  [
    'restarting all: the one that asked goes last, after the init containers',
    {
      spec: {
        containers: [
          container('c0', { restartPolicy: 'Never', restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }] }),
          container('c1'),
        ],
        initContainers: [container('i0')],
      },
      statuses: [status('c0 exited 42'), status('c0 exited 1', 'c0-old'), status('c1 running'), status('i0 exited 0')],
      restartAll: true,
    },
    'reset:c0-old,c1-id!,i0-id,c0-id',
  ],
];

t.test('situations', async (t) => {
  for (const [name, situation, expected] of situations) t.equal(told(computePodActions(inputOf(situation))), expected, name);
});

t.test('a pod that is killed for good starts nothing, its ephemeral containers neither', async (t) => {
  const spec = { restartPolicy: 'Never', ephemeralContainers: [container('e0')] };
  t.equal(mayStartContainers(computePodActions(inputOf({ spec, statuses: exited }))), false);
  t.equal(mayStartContainers(computePodActions(inputOf({ spec, statuses: running }))), true);
  t.equal(mayStartContainers(computePodActions(inputOf({ sandboxes: [] }))), true);
});

t.test('resize: the last policy of a resource counts, and equal amounts in other words are no resize', async (t) => {
  const resizePolicy = [
    { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
    { resourceName: 'cpu', restartPolicy: 'NotRequired' },
  ];
  const spec = { containers: [container('c0', { resizePolicy, resources: { limits: { cpu: '1', memory: '1Gi' } } })] };
  const input = inputOf({ spec, statuses: ['c0 running'] });
  const given = (cpu: string, memory: string): PodActions => computePodActions({ ...input, actuated: { containers: new Map([['c0', { limits: { cpu, memory } }]]), pod: null } });
  t.strictSame(given('1000m', '1048576Ki').containersToUpdate, { cpu: [], memory: [] });
  t.equal(given('500m', '1Gi').containersToUpdate.cpu[0]?.current.cpuLimitMilli, 500);
  t.equal(told(given('500m', '1Gi')), '');
});

// Any pod, any runtime.
const policies = fc.constantFrom('Always', 'OnFailure', 'Never');
const states = fc.constantFrom<ContainerRuntimeState>('created', 'running', 'exited', 'unknown');
const results = fc.constantFrom<ProbeResult>('success', 'failure', 'unknown');
const anyContainer = (name: string): fc.Arbitrary<Container> =>
  fc
    .record({ own: fc.option(policies, { nil: null }), live: fc.boolean(), start: fc.boolean() })
    .map(({ own, live, start }) =>
      container(name, { ...(own === null ? {} : { restartPolicy: own }), ...(live ? { livenessProbe: probe } : {}), ...(start ? { startupProbe: probe } : {}) }),
    );
const anyStatus = fc
  .record({
    name: fc.constantFrom('c0', 'c1', 'i0', 'i1', 'i2', 'e0'),
    state: states,
    exitCode: fc.constantFrom(0, 1, 42),
    changed: fc.boolean(),
    liveness: results,
    startup: results,
  })
  .map(({ name, state, exitCode, changed, ...probes }) => ({ ...probes, name, text: `${name} ${state} ${exitCode}`, changed }));
const anySandbox = fc.record({ state: fc.constantFrom('ready' as const, 'notReady' as const), attempt: fc.nat(3), ip: fc.constantFrom('', '10.0.0.1') });
const anyInput = fc
  .record({
    restartPolicy: policies,
    containers: fc.tuple(anyContainer('c0'), anyContainer('c1')),
    initContainers: fc.tuple(anyContainer('i0'), anyContainer('i1'), anyContainer('i2')),
    deleted: fc.boolean(),
    sandboxes: fc.array(anySandbox, { maxLength: 2 }),
    statuses: fc.array(anyStatus, { maxLength: 8 }),
  })
  .map(({ deleted, sandboxes, statuses, ...spec }) => {
    const found = statuses.map((item, i) => ({ ...item, status: { ...status(item.text, `k${i}`), ...(item.changed ? { hash: '1' } : {}) } }));
    return inputOf({
      spec: { ...spec, ephemeralContainers: [container('e0')] },
      deleted,
      sandboxes: sandboxes.map((item, i) => sandbox({ ...item, id: `s${i}` })),
      statuses: found.map((item) => item.status),
      liveness: Object.fromEntries(found.map((item, i) => [`k${i}`, item.liveness])),
      startup: Object.fromEntries(found.map((item, i) => [`k${i}`, item.startup])),
    });
  });

t.test('properties', async (t) => {
  const property = (name: string, holds: (input: PodActionsInput, actions: PodActions) => boolean): void => {
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(anyInput, (input) => holds(input, computePodActions(input))),
          { numRuns: 1000 },
        ),
      name,
    );
  };
  const newest = (input: PodActionsInput, name: string): RuntimeContainerStatus | undefined => input.status.containers.find((item) => item.name === name);
  const started = ({ pod }: PodActionsInput, actions: PodActions): string[] => [
    ...actions.initContainersToStart.map((index) => pod.spec.initContainers?.[index]?.name ?? 'none'),
    ...actions.containersToStart.map((index) => pod.spec.containers[index]?.name ?? 'none'),
    ...actions.ephemeralContainersToStart.map((index) => pod.spec.ephemeralContainers?.[index]?.name ?? 'none'),
  ];
  property(
    'a pod that is killed for good starts no init and no regular container',
    (_, actions) => mayStartContainers(actions) || actions.initContainersToStart.length + actions.containersToStart.length === 0,
  );
  property('a container that runs, or may, is started again only if it is killed', (input, actions) => {
    if (actions.killPod) return true;
    const killed = new Set(actions.containersToKill.map(({ id }) => id));
    return started(input, actions).every((name) => {
      const found = newest(input, name);
      return found === undefined || found.state === 'exited' || found.state === 'created' || killed.has(found.id);
    });
  });
  property(
    'nothing starts twice, and everything that starts is in the spec',
    (input, actions) => new Set(started(input, actions)).size === started(input, actions).length && !started(input, actions).includes('none'),
  );
  property('only newest instances are killed', (input, actions) => actions.containersToKill.every(({ id, name }) => newest(input, name)?.id === id));
  property('no ordinary init container starts beside an active regular one', (input, actions) => {
    if (actions.createSandbox || !['c0', 'c1'].some((name) => ['created', 'running'].includes(newest(input, name)?.state ?? ''))) return true;
    return actions.initContainersToStart.every((index) => input.pod.spec.initContainers?.[index]?.restartPolicy === 'Always');
  });
  property('a deleted pod with a sandbox starts no regular container that ended', (input, actions) => {
    if (input.pod.metadata.deletionTimestamp === undefined || actions.killPod) return true;
    return actions.containersToStart.every((index) => newest(input, input.pod.spec.containers[index]?.name ?? '')?.state === 'running');
  });
  property('the same input gives the same answer', (input, actions) => JSON.stringify(computePodActions(input)) === JSON.stringify(actions));
});
