// The Node object and its lease: what holds for any history.

import fc from 'fast-check';
import t from 'tap';
import { pressuresOf } from '../../src/domain/agent/node-status/node-view.js';
import { noPressure, observePressure } from '../../src/domain/eviction/pressure.js';
import type { EvictionSignal } from '../../src/domain/eviction/signals.js';
import { parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { type LeaseAnswer, leaseAnswered, newLeaseRenewal, nextLeaseRenewalAt, startLeaseRenewal } from '../../src/domain/lease/lease-renewal.js';
import { declaredFeatures } from '../../src/domain/node-status/declared-features.js';
import { withPressures, withReady } from '../../src/domain/node-status/node-conditions.js';
import { imagesBySize } from '../../src/domain/node-status/node-images.js';
import { osImage, runtimeHandlersInOrder, runtimeVersion } from '../../src/domain/node-status/node-info.js';
import { nodeStatusChanged, nodeStatusPatch } from '../../src/domain/node-status/node-patch.js';
import { type NodeFacts, newNodeStatusMemory, updatedNode } from '../../src/domain/node-status/node-status.js';
import { problemText } from '../../src/domain/node-status/problem-list.js';
import { registrationWait } from '../../src/domain/node-status/registration.js';
import { effectiveReportFrequency, newStatusReport, nextStatusUpdateAt, reportFailed, startReport, statusComputed } from '../../src/domain/node-status/status-report.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { quantityOf } from '../../src/domain/values/quantity.js';
import { formatRfc3339 } from '../../src/domain/values/time.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node, NodeCondition } from '../../src/ports/model/node.js';
import { patchedNode, storedNode } from '../vectors/node-server.js';

const second = 1_000_000;
const start = 1_700_000_000 * second;
const noEviction = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] };

const facts: NodeFacts = {
  nodeName: 'n',
  architecture: 'amd64',
  addresses: { hostname: 'h', nodeIps: ['10.0.0.1'], externalCloudProvider: false, interfaceIps: ['10.0.0.1'], dnsAddresses: [], defaultRoute: { ipv4: null, ipv6: null } },
  capacity: {
    machine: { cpus: 4, memoryBytes: 8 * 2 ** 30, hugePages: [] },
    ...{ maxPods: 110, podsPerCore: 0, ephemeralStorage: '100Gi', reservation: { cpu: '100m' } },
    devices: { capacity: {}, allocatable: {}, removed: [] },
  },
  machineIds: { machineId: 'm', systemUuid: 's', bootId: 'b2', swapBytes: 0 },
  versions: { kernelVersion: '6.1', osRelease: 'NAME=x\nPRETTY_NAME="Debian 12"\n', runtime: { name: 'containerd', version: 'v2.1.0' }, kubeletVersion: 'v1.36.0' },
  kubeletPort: 10250,
  images: { ok: true, images: [{ names: ['a'], sizeBytes: 1 }] },
  runtimeHandlers: [
    { name: 'runc', recursiveReadOnlyMounts: true, userNamespaces: true },
    { name: '', recursiveReadOnlyMounts: true, userNamespaces: false },
  ],
  supplementalGroupsPolicy: true,
  pressures: { memory: false, disk: false, pid: false },
  readiness: { runtime: [], network: [], storage: [], shuttingDown: false, softRequirements: null },
  localStorageCapacityIsolation: true,
  volumesInUse: ['v2', 'v1', 'v2'],
  declaredFeatures: ['B', 'A'],
};

t.test('the setters together, twice', async (t) => {
  const memory = newNodeStatusMemory();
  const foreign: NodeCondition = { type: 'NetworkUnavailable', status: 'False', reason: 'Theirs' };
  const before: Node = {
    metadata: { name: 'n', labels: { team: 'a' } },
    spec: { unschedulable: true },
    status: { conditions: [foreign], nodeInfo: { bootID: 'b1' }, volumesAttached: [{ name: 'v', devicePath: 'd' }] },
  };
  const first = updatedNode(before, facts, memory, instantOf(start));
  t.strictSame(first.errors, []);
  t.strictSame(
    first.events.map(({ reason }) => reason),
    ['Rebooted', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID', 'NodeNotSchedulable'],
  );
  const { status = {}, metadata } = first.node;
  t.strictSame(
    status.conditions?.map(({ type }) => type),
    ['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'],
  );
  t.strictSame(status.conditions?.[0], foreign);
  t.strictSame(status.allocatable, { cpu: '3900m', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' });
  t.strictSame(status.volumesInUse, ['v1', 'v2']);
  t.strictSame(status.volumesAttached, before.status?.volumesAttached, 'the controller owns it');
  t.strictSame(status.nodeInfo?.osImage, 'Debian 12');
  t.strictSame(status.nodeInfo?.containerRuntimeVersion, 'containerd://2.1.0');
  t.strictSame(metadata.labels, { team: 'a', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' });
  const second_ = updatedNode(first.node, facts, memory, instantOf(start + 10 * second));
  t.strictSame(second_.events, [], 'nothing is told twice');
  t.notOk(nodeStatusChanged(status, second_.node.status ?? {}), 'heartbeats alone are no change');
  const failing = updatedNode(
    first.node,
    { ...facts, images: { ok: false, error: 'down' }, addresses: { ...facts.addresses, interfaceIps: [] }, volumesInUse: null },
    memory,
    instantOf(start),
  );
  t.strictSame(failing.errors, [`failed to validate nodeIP: node IP: "10.0.0.1" not found in the host's network interfaces`, 'error getting image list: down']);
  t.strictSame(failing.node.status?.addresses, status.addresses, 'addresses stay as they were');
  t.strictSame(failing.node.status?.volumesInUse, ['v1', 'v2'], 'before the first look at volumes nothing is said');
});

t.test('transition times move with the status, and only then', async (t) => {
  const step = fc.record({ gap: fc.integer({ min: 1, max: 600 }), memory: fc.boolean(), disk: fc.boolean(), pid: fc.boolean(), problems: fc.subarray(['a', 'b']) });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let now = start;
        let conditions: readonly NodeCondition[] = [];
        return steps.every(({ gap, problems, ...pressures }) => {
          now += gap * second;
          const before = new Map(conditions.map((condition) => [condition.type, condition]));
          const pressed = withPressures('n', conditions, pressures, instantOf(now));
          const readiness = { ...facts.readiness, runtime: problems, capacity: { cpu: '1', memory: '1', pods: '1' }, localStorageCapacityIsolation: false };
          const ready = withReady('n', pressed.conditions, readiness, instantOf(now));
          conditions = ready.conditions;
          const flips = conditions.filter(({ type, status }) => before.get(type)?.status !== status).length;
          const told = pressed.events.length + ready.events.length + (before.has('Ready') ? 0 : 1);
          return (
            told === flips &&
            conditions.every(({ type, status, lastHeartbeatTime, lastTransitionTime }) => {
              const old = before.get(type);
              const moved = lastTransitionTime !== old?.lastTransitionTime;
              return lastHeartbeatTime === formatRfc3339(instantOf(now)) && moved === (old?.status !== status);
            })
          );
        });
      }),
    ),
  );
  t.equal(problemText([]), null);
  t.equal(problemText(['a', 'b', 'a']), '[a, b]');
  t.equal(problemText(['a', 'a']), 'a');
});

t.test('a patch applied to the original gives the updated node', async (t) => {
  const condition = fc.record({
    type: fc.constantFrom('Ready', 'MemoryPressure', 'Other'),
    status: fc.constantFrom('True', 'False'),
    reason: fc.constantFrom('', 'A'),
    message: fc.constantFrom('', 'm'),
  });
  const amounts = fc.dictionary(fc.constantFrom('cpu', 'memory', 'example.com/x'), fc.constantFrom('1', '1000m', '2Gi', '0'), { maxKeys: 3 });
  const status = fc.record(
    {
      conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
      addresses: fc.array(fc.record({ type: fc.constantFrom('InternalIP', 'Hostname'), address: fc.constantFrom('10.0.0.1', 'fd00::1', 'h') }), { maxLength: 3 }),
      capacity: amounts,
      images: fc.array(fc.record({ names: fc.constant(['a']), sizeBytes: fc.nat(3) }), { maxLength: 2 }),
      nodeInfo: fc.record({ bootID: fc.constantFrom('a', 'b'), swap: fc.record({ capacity: fc.nat(2) }) }),
      phase: fc.constantFrom('Running', 'Pending'),
    },
    { requiredKeys: [] },
  );
  const node = fc
    .record({ status, labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')) })
    .map(({ status, labels }): Node => ({ metadata: { name: 'n', labels }, status }));
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(node, node, (original, updated) => {
        const result = patchedNode(original, { ...nodeStatusPatch(original, updated) });
        if (canonicalJson(canonical(result)) !== canonicalJson(canonical(updated))) return false;
        return JSON.stringify(nodeStatusPatch(original, original)) === '{}' && !nodeStatusChanged(result.status ?? {}, updated.status ?? {});
      }),
      { numRuns: 300 },
    ),
  );
  t.strictSame(nodeStatusPatch({ metadata: { name: 'n' }, spec: {} }, { metadata: { name: 'n' }, spec: { unschedulable: true } }), {}, 'the spec is never sent');
});

function canonical(node: Node): unknown {
  const { metadata, status } = storedNode(node);
  const conditions = ((status.conditions ?? []) as NodeCondition[]).map((condition) => Object.entries(condition).filter(([, value]) => value !== ''));
  return JSON.parse(JSON.stringify({ metadata, status: { ...status, conditions: conditions.map((entries) => Object.fromEntries(entries)) } }));
}

t.test('a cycle of the lease ends, with few writes, whatever is answered', async (t) => {
  const kinds = fc.constantFrom<LeaseAnswer['kind']>('lease', 'lease', 'node', 'not-found', 'conflict', 'failed');
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(kinds, { minLength: 1, maxLength: 60 }), (answers) => {
        const renewal = newLeaseRenewal('n', 40);
        const made = (lease: Lease | null): Lease => lease ?? { metadata: { name: 'n', namespace: 'kube-node-lease' }, spec: { holderIdentity: 'other' } };
        let at = 0;
        for (let cycle = 0; cycle < 3; cycle++) {
          let writes = 0;
          let calls = 0;
          for (let step = startLeaseRenewal(renewal, instantOf(start)); step.call !== null; ) {
            const { call } = step;
            const kind = ++calls > 200 ? 'lease' : answers[at++ % answers.length]!;
            if (call.op === 'update-lease') writes++;
            if ('lease' in call && (call.lease.spec.leaseDurationSeconds !== 40 || (call.lease.metadata.ownerReferences ?? []).length === 0)) return false;
            const isNode = call.op === 'get-node';
            const fits = kind === (isNode ? 'node' : 'lease');
            const answer: LeaseAnswer =
              fits || calls > 200
                ? isNode
                  ? { kind: 'node', uid: 'u' }
                  : { kind: 'lease', lease: 'lease' in call ? call.lease : made(null) }
                : kind === 'lease' || kind === 'node'
                  ? { kind: 'failed' }
                  : { kind };
            step = leaseAnswered(renewal, answer, instantOf(start));
          }
          if (writes > 10 || renewal.state !== 'idle') return false;
        }
        return true;
      }),
      { numRuns: 400 },
    ),
  );
  t.equal(nextLeaseRenewalAt(40, 0, start), start + 10 * second);
  t.ok(nextLeaseRenewalAt(40, 0.999999, start) < start + 10.4 * second);
});

t.test('small rules', async (t) => {
  t.strictSame(
    Array.from({ length: 9 }, (_, i) => registrationWait(i + 1) / second),
    [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7, 7],
  );
  t.equal(effectiveReportFrequency(null, null), 300 * second);
  t.equal(effectiveReportFrequency(30 * second, null), 30 * second);
  t.equal(nextStatusUpdateAt(10 * second, 0.5, start), start + 10.2 * second);
  const report = newStatusReport(300 * second);
  t.throws(() => reportFailed(report), 'nothing is under way');
  startReport(report);
  statusComputed(report, false, () => 0, start);
  t.equal(report.delay, -150 * second, 'the shortest delay is minus half of the frequency');
  const versions: [string, string][] = [
    ['v1.7.2', '1.7.2'],
    ['2.0.0-rc.1', '2.0.0-rc.1'],
    ['1.2.3.4', '1.2.3.4'],
    ['1.6.20~ds1', '1.6.20'],
    ['1.7.24-0ubuntu1~22.04', '1.7.24'],
    ['1.7.2+unknown', '1.7.2+unknown'],
    ['1.7', '1.7'],
    ['git-abc', 'Unknown'],
  ];
  for (const [text, want] of versions) t.equal(runtimeVersion(text), want);
  t.equal(osImage(null), 'Unknown');
  t.equal(osImage('ID=x'), 'Linux');
  t.strictSame(
    runtimeHandlersInOrder(facts.runtimeHandlers).map(({ name }) => name),
    ['', 'runc'],
  );
  const image = (id: string, sizeBytes: number) => ({ id, sizeBytes, repoTags: [], repoDigests: [] });
  t.strictSame(
    imagesBySize([image('a', 1), image('c', 2), image('b', 2)]).map(({ id }) => id),
    ['c', 'b', 'a'],
  );
});

t.test('pressure conditions follow what eviction sees, and stay for its transition period', async (t) => {
  const rows: readonly (readonly [signal: EvictionSignal, type: string, on: readonly string[], off: readonly string[]])[] = [
    [
      'memory.available',
      'MemoryPressure',
      ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available', 'NodeHasInsufficientMemory'],
      ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available', 'NodeHasSufficientMemory'],
    ],
    [
      'nodefs.available',
      'DiskPressure',
      ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
      ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
    ],
    [
      'pid.available',
      'PIDPressure',
      ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
      ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
    ],
  ];
  for (const [signal, type, on, off] of rows) {
    const parsed = parseEvictionThresholds({ ...noEviction, evictionHard: { [signal]: '100' } });
    if (!parsed.ok) throw new Error(parsed.error);
    let pressure = noPressure;
    let conditions: readonly NodeCondition[] = [];
    const step = (at: number, available: number) => {
      const now = start + at * second;
      const observation = { available: quantityOf(available), capacity: quantityOf(1000), time: now };
      pressure = observePressure(pressure, parsed.value, new Map([[signal, observation]]), 300 * second, now);
      const update = withPressures('n', conditions, pressuresOf(pressure), instantOf(now));
      conditions = update.conditions;
      const { status, reason, message, lastTransitionTime } = conditions.find((condition) => condition.type === type) ?? {};
      const events = update.events.map((event) => `${event.type} ${event.reason} ${event.message}`);
      return [status, reason, message, lastTransitionTime, events.filter((event) => event.includes(`is now: ${on[2]}`) || event.includes(`is now: ${off[2]}`))];
    };
    const told = (event: string | undefined): string[] => [`Normal ${event} Node n status is now: ${event}`];
    const time = (at: number) => formatRfc3339(instantOf(start + at * second));
    t.strictSame(step(0, 500), ['False', off[0], off[1], time(0), told(off[2])], `${type}: plenty`);
    t.strictSame(step(10, 99), ['True', on[0], on[1], time(10), told(on[2])], `${type}: short`);
    t.strictSame(step(20, 900), ['True', on[0], on[1], time(10), []], `${type}: plenty again, but not for long enough`);
    t.strictSame(step(309, 900), ['True', on[0], on[1], time(10), []]);
    t.strictSame(step(310, 900), ['False', off[0], off[1], time(310), told(off[2])], `${type}: for long enough`);
    t.strictSame(
      conditions.filter(({ status }) => status === 'True'),
      [],
      'the others never were',
    );
  }
});

t.test('features are declared that the agent has and whose gates are on', async (t) => {
  const rows: readonly (readonly [Readonly<Record<string, boolean>>, readonly string[]])[] = [
    [{}, ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits']],
    [{ RestartAllContainersOnContainerExits: false }, ['ExtendWebSocketsToKubelet']],
    [{ ExtendWebSocketsToKubelet: false }, ['RestartAllContainersOnContainerExits']],
    [{ NodeDeclaredFeatures: false }, []],
    [{ UserNamespacesHostNetworkSupport: true }, ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits']],
  ];
  for (const [gates, expected] of rows) t.strictSame(declaredFeatures(new Map(Object.entries(gates))), expected, JSON.stringify(gates));
});
