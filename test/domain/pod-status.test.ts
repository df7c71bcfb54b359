import fc from 'fast-check';
import t from 'tap';
import { apiPodStatus, type PodStatusInput } from '../../src/domain/status/pod-status.js';
import { isPodStatusEqual } from '../../src/domain/status/status-equality.js';
import { applyStatusChange, illegalTransition, mayDeleteFromApi, type StatusChange, type StatusRecord } from '../../src/domain/status/status-manager.js';
import { mergedStatus } from '../../src/domain/status/status-merge.js';
import { normalizedStatus } from '../../src/domain/status/status-normalization.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatIp, parseIp } from '../../src/domain/values/ip-address.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ContainerState, ContainerStatus, PodPhase, PodStatus } from '../../src/ports/model/pod-status.js';
import type { RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';

const phases: readonly PodPhase[] = ['Pending', 'Running', 'Succeeded', 'Failed'];
const restartRule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };

const container = (name: string): fc.Arbitrary<Container> =>
  fc.record(
    { name: fc.constant(name), image: fc.constant('i'), restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'), restartPolicyRules: fc.constant([restartRule]) },
    { requiredKeys: ['name', 'image'] },
  );

const state: fc.Arbitrary<ContainerState> = fc.oneof(
  fc.constant({ waiting: { reason: 'CrashLoopBackOff' } }),
  fc.constant({ running: { startedAt: '2026-01-01T00:00:00.123456Z' } }),
  fc.constantFrom(0, 1, 42).map((exitCode) => ({ terminated: { exitCode, message: 'gone' } })),
  fc.constant({}),
);

const status = (name: string): fc.Arbitrary<ContainerStatus> =>
  fc.record({
    name: fc.constant(name),
    state,
    lastState: state,
    ready: fc.boolean(),
    restartCount: fc.nat(3),
    image: fc.constant('i'),
    imageID: fc.constant(''),
    containerID: fc.constant(`containerd://${name}-0`),
  });

const podStatus: fc.Arbitrary<PodStatus> = fc.record({
  phase: fc.constantFrom(...phases),
  conditions: fc.subarray(['Ready', 'DisruptionTarget', 'example.com/gate', 'AllContainersRestarting']).map((types) => types.map((type) => ({ type, status: 'True' }))),
  initContainerStatuses: fc.tuple(status('i1'), status('i0')).map((both) => [...both]),
  containerStatuses: fc.tuple(status('c1'), status('c0')).map((both) => [...both]),
});

const pod: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
    initContainers: fc.tuple(container('i1'), container('i0')).map((both) => [...both]),
    containers: fc.tuple(container('c1'), container('c0')).map((both) => [...both]),
  })
  .chain((spec) => podStatus.map((api) => ({ metadata: { name: 'p', namespace: 'n', uid: 'u', generation: 2 }, spec, status: api })));

const instance: fc.Arbitrary<RuntimeContainerStatus> = fc
  .record({ name: fc.constantFrom('i0', 'i1', 'c0', 'c1', 'other'), state: fc.constantFrom('created', 'running', 'exited', 'unknown'), exitCode: fc.constantFrom(0, 1, 42) })
  .map(({ name, state: runtimeState, exitCode }) => ({
    id: `${name}-1`,
    sandboxId: 's',
    name,
    state: runtimeState as RuntimeContainerStatus['state'],
    createdAt: instantOf(1),
    startedAt: runtimeState === 'created' ? null : instantOf(2),
    finishedAt: runtimeState === 'exited' ? instantOf(3) : null,
    exitCode: runtimeState === 'exited' ? exitCode : 0,
    reason: '',
    message: '',
    restartCount: 0,
    hash: '',
    image: 'i',
    imageRef: 'i@sha256:00',
    imageId: '',
    resources: null,
    user: null,
  }));

const input: fc.Arbitrary<PodStatusInput> = fc
  .record({ pod, cachedStatus: fc.option(podStatus), containers: fc.array(instance, { maxLength: 6 }), podIsTerminal: fc.boolean(), failing: fc.boolean() })
  .map(({ pod: subject, cachedStatus, containers, podIsTerminal, failing }) => ({
    pod: subject,
    cachedStatus,
    runtime: {
      uid: 'u',
      name: 'p',
      namespace: 'n',
      ips: ['10.0.0.1'],
      sandboxes: [{ id: 's', attempt: 0, state: 'ready' as const, networkMode: 'pod' as const, hasNetwork: true, ip: '10.0.0.1', createdAt: instantOf(0) }],
      containers,
      observedAt: 0,
    },
    runtimeType: 'containerd',
    runtimeSupportsRecursiveReadOnly: false,
    containerStopSignals: false,
    podIsTerminal,
    startFailures: new Map(failing ? [['c0', { reason: 'ErrImagePull', message: 'm' }]] : []),
    probes: { readiness: new Map(), startup: new Map(), hasWorker: () => false, kubeletStartedAt: instantOf(0) },
    node: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }], configuredIps: [] },
    resizeConditions: [{ type: 'PodResizePending', status: 'True' }],
    podCgroup: { cpuShares: null, cpuQuotaMicros: null, cpuPeriodMicros: null, memoryLimitBytes: null },
    isPastDeadline: false,
  }));

function holds(t: { equal(found: unknown, wanted: unknown, message: string): unknown }, property: fc.IProperty<unknown>): void {
  const found = fc.check(property, { numRuns: 1000 });
  t.equal(found.failed, false, JSON.stringify(found.counterexample));
}

const isTerminal = (phase: PodPhase | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

t.test('a terminal phase of the API never changes, a cached one never turns back', (t) => {
  holds(
    t,
    fc.property(input, (given) => {
      const { phase } = apiPodStatus(given);
      if (isTerminal(given.pod.status?.phase)) return phase === given.pod.status?.phase;
      return !isTerminal(given.cachedStatus?.phase) || isTerminal(phase);
    }),
  );
  t.end();
});

t.test('conditions stand in one order, each type once', (t) => {
  // DisruptionTarget keeps the API's position, or follows the resize conditions.
  const order = ['example.com/gate', 'PodResizePending', 'PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled', 'AllContainersRestarting'];
  holds(
    t,
    fc.property(input, (given) => {
      const types = (apiPodStatus(given).conditions ?? []).map((condition) => condition.type);
      const positions = types.filter((type) => type !== 'DisruptionTarget').map((type) => order.indexOf(type));
      return new Set(types).size === types.length && positions.every((position, i) => position >= 0 && (i === 0 || position > positions[i - 1]!));
    }),
  );
  t.end();
});

t.test('regular statuses are sorted, init statuses stand in spec order, each container has one, none other has', (t) => {
  holds(
    t,
    fc.property(input, (given) => {
      const result = apiPodStatus(given);
      return (result.containerStatuses ?? []).map(({ name }) => name).join() === 'c0,c1' && (result.initContainerStatuses ?? []).map(({ name }) => name).join() === 'i1,i0';
    }),
  );
  t.end();
});

t.test('the restart count never falls', (t) => {
  holds(
    t,
    fc.property(input, (given) => {
      const before = (given.cachedStatus ?? given.pod.status)?.containerStatuses ?? [];
      const after = apiPodStatus(given).containerStatuses ?? [];
      return before.every((old) => after.some((next) => next.name === old.name && next.restartCount >= old.restartCount));
    }),
  );
  t.end();
});

t.test('normalising twice changes nothing more, and a status equals itself', (t) => {
  holds(
    t,
    fc.property(pod, podStatus, (subject, given) => {
      const once = normalizedStatus(subject, given);
      return JSON.stringify(normalizedStatus(subject, once)) === JSON.stringify(once) && isPodStatusEqual(once, once);
    }),
  );
  t.end();
});

t.test('the record: versions rise by one, finished stays, the start time stays, no illegal transition gets in', (t) => {
  const change: fc.Arbitrary<StatusChange> = fc.oneof(
    podStatus.map((given): StatusChange => ({ kind: 'set', status: given })),
    fc.constant<StatusChange>({ kind: 'terminate' }),
    fc.boolean().map((ready): StatusChange => ({ kind: 'readiness', containerID: 'containerd://c0-0', ready })),
    fc.boolean().map((started): StatusChange => ({ kind: 'startup', containerID: 'containerd://c0-0', started })),
  );
  holds(
    t,
    fc.property(pod, fc.array(change, { minLength: 1, maxLength: 6 }), (subject, changes) => {
      let record: StatusRecord | null = null;
      for (const [i, next] of changes.entries()) {
        const before: StatusRecord | null = record;
        record = applyStatusChange(before, next, { pod: subject, mirrorStatus: null, now: i, wall: instantOf((i + 1) * microsPerSecond) });
        if (record === before || record === null) continue;
        if (record.version !== (before?.version ?? 0) + 1) return false;
        if (before !== null && (before.finished > record.finished || before.status.startTime !== record.status.startTime)) return false;
        if (illegalTransition(subject, before?.status ?? subject.status ?? {}, record.status) !== null) return false;
      }
      return true;
    }),
  );
  t.end();
});

t.test('the merge: no terminal phase while containers may run, never terminal and ready, foreign conditions stay', (t) => {
  holds(
    t,
    fc.property(pod, podStatus, fc.boolean(), (apiPod, ours, couldHaveRunningContainers) => {
      const merged = mergedStatus({ apiPod, status: ours, couldHaveRunningContainers, wall: instantOf(0) });
      const kept = (apiPod.status?.conditions ?? []).some(({ type }) => type === 'example.com/gate') === (merged.conditions ?? []).some(({ type }) => type === 'example.com/gate');
      const ready = (merged.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
      const early = couldHaveRunningContainers && isTerminal(merged.phase) && !isTerminal(apiPod.status?.phase);
      return kept && !(ready && isTerminal(merged.phase)) && !early;
    }),
  );
  t.end();
});

t.test('a pod goes from the API once it is deleted, terminal there and finished here', (t) => {
  const record: StatusRecord = { status: {}, version: 1, changedAt: null, podName: 'p', podNamespace: 'n', finished: true };
  const deleted = { name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const rows: readonly (readonly [string, Pod, StatusRecord, boolean])[] = [
    ['all three', { metadata: deleted, spec: { containers: [] }, status: { phase: 'Failed' } }, record, true],
    ['not finished', { metadata: deleted, spec: { containers: [] }, status: { phase: 'Failed' } }, { ...record, finished: false }, false],
    ['not terminal', { metadata: deleted, spec: { containers: [] }, status: { phase: 'Running' } }, record, false],
    ['not deleted', { metadata: { name: 'p' }, spec: { containers: [] }, status: { phase: 'Failed' } }, record, false],
    ['a mirror', { metadata: { ...deleted, annotations: { 'kubernetes.io/config.mirror': 'h' } }, spec: { containers: [] }, status: { phase: 'Failed' } }, record, false],
  ];
  for (const [sentence, apiPod, given, expected] of rows) t.equal(mayDeleteFromApi(apiPod, given), expected, sentence);
  t.end();
});

t.test('addresses are read leniently and printed in one form', (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['010.088.000.007', '10.88.0.7'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['fd00:1:0:2:3:4:5:6', 'fd00:1:0:2:3:4:5:6'],
    ['1:2:3:4:5:6:7:8:9', null],
    ['::1::', null],
    ['1::2:3:4:5:6:7:8', null],
    ['10.0.0.256', null],
    ['10.0.0', null],
    ['fe80::1%eth0', null],
    ['', null],
  ];
  for (const [text, expected] of rows) {
    const address = parseIp(text);
    t.equal(address === null ? null : formatIp(address), expected, text);
  }
  t.end();
});
