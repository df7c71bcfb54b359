// A node in a cluster: registered, reported, alive; with an apiserver that is unreachable, slow, full, or has lost it.
import t from 'tap';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node, NodeCondition } from '../../src/ports/model/node.js';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

const second = 1_000_000;
const minute = 60 * second;

/** A world with one node in a cluster, and an administrator that reads it. */
class NodeRun {
  readonly cluster: SimCluster;
  readonly admin: ApiCaller;

  constructor(options: Partial<SimClusterOptions> = {}) {
    const cluster = new SimCluster({ seed: 1, nodes: ['n1'], node: {}, apiserver: {}, ...options });
    this.cluster = cluster;
    const clock = {
      get now() {
        return cluster.now;
      },
      set now(_: number) {},
    };
    this.admin = new ApiCaller(cluster.apiserver, undefined, clock);
  }

  run(micros: number): this {
    this.cluster.run(micros);
    return this;
  }

  get node(): Node | null {
    const answer = this.admin.get('nodes', 'n1', null);
    return answer.code === 200 ? (answer.body as unknown as Node) : null;
  }

  get lease(): Lease | null {
    const answer = this.admin.get('leases', 'n1', 'kube-node-lease');
    return answer.code === 200 ? (answer.body as unknown as Lease) : null;
  }

  condition(type: string): NodeCondition | undefined {
    return this.node?.status?.conditions?.find((condition) => condition.type === type);
  }

  /** What the node asked for since then, as `verb resource`. */
  asked(since = 0): string[] {
    const entries = this.cluster.apiserver.audit.entries.filter(({ user, at }) => user === 'system:node:n1' && at >= since);
    return entries.map(({ verb, resource }) => `${verb} ${resource}`);
  }

  events(reason: string): Record<string, unknown>[] {
    const items = this.admin.list('events', {}, null).body.items as Record<string, unknown>[];
    return items.filter((event) => event.reason === reason);
  }
}

t.test('a node comes up', async (t) => {
  const run = new NodeRun({ node: { nodeLabels: { 'node.kubernetes.io/pool': 'a' }, registerWithTaints: [{ key: 'new', effect: 'NoSchedule' }] } }).run(5 * second);
  const { node } = run;
  t.match(node, {
    metadata: { labels: { 'kubernetes.io/hostname': 'n1', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', 'node.kubernetes.io/pool': 'a' } },
    spec: { taints: [{ key: 'new', effect: 'NoSchedule' }] },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110', 'hugepages-2Mi': '0', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '4' },
      nodeInfo: { osImage: 'Simulated Linux', kernelVersion: '6.12.0', containerRuntimeVersion: 'sim://1.0.0', architecture: 'amd64', operatingSystem: 'linux' },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  });
  t.strictSame(node?.status?.addresses, [
    { type: 'InternalIP', address: '10.1.0.10' },
    { type: 'Hostname', address: 'n1' },
  ]);
  t.match(run.condition('Ready'), { status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' });
  for (const type of ['MemoryPressure', 'DiskPressure', 'PIDPressure']) t.match(run.condition(type), { status: 'False' }, type);
  t.match(run.lease, { spec: { holderIdentity: 'n1', leaseDurationSeconds: 40 }, metadata: { ownerReferences: [{ kind: 'Node', name: 'n1', uid: node?.metadata.uid }] } });
  t.equal(run.events('Starting').length, 1);
  t.equal(run.events('NodeHasSufficientMemory').length, 1);
  t.match(run.events('NodeReady')[0] ?? run.events('NodeHasNoDiskPressure')[0], {
    involvedObject: { kind: 'Node', name: 'n1', uid: node?.metadata.uid },
    metadata: { namespace: 'default' },
  });
  t.strictSame(run.cluster.violations, []);
});

t.test('an idle node asks for little', async (t) => {
  const run = new NodeRun({ apiserver: { auditLimit: 100_000 } }).run(10 * minute);
  const since = run.cluster.now;
  run.run(30 * minute);
  const counts = new Map<string, number>();
  for (const what of run.asked(since)) counts.set(what, (counts.get(what) ?? 0) + 1);
  const leases = counts.get('update leases.coordination.k8s.io') ?? 0;
  t.ok(leases >= 172 && leases <= 180, `the lease each ten seconds: ${leases} in 30 minutes`);
  const reports = counts.get('patch nodes/status') ?? 0;
  t.ok(reports >= 5 && reports <= 7, `the status each five minutes: ${reports}`);
  const others = [...counts].filter(([what]) => !what.startsWith('watch ') && what !== 'update leases.coordination.k8s.io' && what !== 'patch nodes/status');
  t.strictSame(others, [], 'and nothing else');
});

t.test('a Node that is deleted is registered again', async (t) => {
  const run = new NodeRun({ node: { registerWithTaints: [{ key: 'new', effect: 'NoSchedule' }] } }).run(minute);
  const before = run.node?.metadata.uid;
  t.equal(run.admin.remove('nodes', 'n1', {}, null).code, 200);
  run.run(15 * second);
  t.ok(run.node !== null && run.node.metadata.uid !== before, 'within a period of its status');
  t.match(run.node?.spec?.taints, [{ key: 'new', effect: 'NoSchedule' }], 'as a new node');
  t.match(run.condition('Ready'), { status: 'True' });
  run.run(20 * second);
  t.equal(run.lease?.metadata.ownerReferences?.[0]?.uid, run.node?.metadata.uid, 'and its lease is the new one’s');
});

t.test('an apiserver that is away for ten minutes', async (t) => {
  const run = new NodeRun().run(minute);
  run.cluster.apiserver.setFaults([{ operation: '*', trigger: {}, action: { kind: 'error', code: 503, message: 'away', retryAfterSeconds: null } }], run.cluster.now);
  const since = run.cluster.now;
  run.run(10 * minute);
  const tries = run.asked(since).length;
  t.ok(tries < 10 * 60 * 2, `it is asked ${tries} times`);
  run.cluster.apiserver.setFaults([], run.cluster.now);
  run.run(15 * second);
  t.ok(Date.parse(run.lease?.spec.renewTime ?? '') * 1000 > run.cluster.now - 15 * second, 'the lease lives again');
  run.run(30 * second);
  t.match(run.condition('Ready'), { status: 'True' });
});

t.test('an apiserver that has no time', async (t) => {
  const run = new NodeRun().run(minute);
  run.cluster.apiserver.setFaults([{ operation: '*', trigger: {}, action: { kind: 'error', code: 429, message: 'slow down', retryAfterSeconds: 5 } }], run.cluster.now);
  const since = run.cluster.now;
  run.run(5 * minute);
  const tries = run.asked(since).length;
  t.ok(tries < 5 * 60, `it is asked ${tries} times in five minutes`);
  run.cluster.apiserver.setFaults([], run.cluster.now);
  run.run(30 * second);
  t.ok(Date.parse(run.lease?.spec.renewTime ?? '') * 1000 > run.cluster.now - 15 * second);
});

t.test('KB069: a restart posts no unreadiness', async (t) => {
  for (const [sentence, down] of [
    ['a runtime that answers at once', 0],
    ['after 3 s', 3 * second],
    ['after 20 s', 20 * second],
  ] as const) {
    const run = new NodeRun({ apiserver: { auditLimit: 10_000 } }).run(2 * minute);
    const before = run.condition('Ready');
    const statuses: string[] = [];
    const node = run.cluster.node();
    node.kill();
    run.run(5 * second);
    if (down > 0) node.runtimeDown(down);
    node.start();
    for (let i = 0; i < 60; i++) {
      run.run(second);
      statuses.push(run.condition('Ready')?.status ?? '');
    }
    t.ok(
      statuses.every((status) => status === 'True'),
      `${sentence}: ${[...new Set(statuses)].join()}`,
    );
    t.equal(run.condition('Ready')?.lastTransitionTime, before?.lastTransitionTime, `${sentence}: the time of the last change stays`);
    t.not(run.condition('Ready')?.lastHeartbeatTime, before?.lastHeartbeatTime, `${sentence}: it is reported`);
  }
});

t.test('a runtime that is down makes the node unready, and ready again', async (t) => {
  const run = new NodeRun().run(minute);
  run.cluster.node().runtimeDown(90 * second);
  run.run(50 * second);
  t.match(run.condition('Ready'), { status: 'False', reason: 'KubeletNotReady', message: /container runtime is down/ });
  t.equal(run.events('NodeNotReady').length, 1);
  run.run(70 * second);
  t.match(run.condition('Ready'), { status: 'True' });
  t.equal(run.events('NodeReady').length, 1);
  run.cluster.node().setNetworkReady(false);
  run.run(20 * second);
  const message = 'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized';
  t.match(run.condition('Ready'), { status: 'False', message });
});

t.test('a machine that was started anew, and a range of pod addresses', async (t) => {
  const run = new NodeRun().run(minute);
  const node = run.cluster.node();
  node.kill();
  const { machine } = node.host.state;
  machine.reading = { ...machine.reading, bootId: 'another' };
  node.start();
  run.run(30 * second);
  t.match(run.events('Rebooted')[0], { type: 'Warning', message: 'Node n1 has been rebooted, boot id: another' });
  t.equal(run.events('Rebooted').length, 1);
  t.equal(run.node?.status?.nodeInfo?.['bootID'], 'another');
  run.admin.patch('nodes', 'n1', { spec: { podCIDR: '10.8.1.0/24', podCIDRs: ['10.8.1.0/24'] } }, null, null);
  run.run(15 * second);
  t.equal(node.runtime.state.podCidr, '10.8.1.0/24', 'the runtime knows it');
});

t.test('a range of pod addresses that changes while the previous one is sent', async (t) => {
  const run = new NodeRun().run(minute);
  const node = run.cluster.node();
  node.setFaults([{ operation: 'runtime.updateConfig', trigger: { times: 1 }, action: { kind: 'delay', moment: 'after', micros: 5 * second } }]);
  const give = (podCIDR: string) => run.admin.patch('nodes', 'n1', { spec: { podCIDR, podCIDRs: [podCIDR] } }, null, null);
  give('10.8.1.0/24');
  t.ok(run.cluster.runUntil(() => node.runtime.state.podCidr === '10.8.1.0/24', minute));
  give('10.8.2.0/24');
  run.run(20 * second);
  t.equal(node.runtime.state.podCidr, '10.8.2.0/24,10.8.1.0/24', 'the runtime knows the newer one (the patch merges ranges)');
});

t.test('a node that is cordoned', async (t) => {
  const run = new NodeRun().run(minute);
  run.admin.patch('nodes', 'n1', { spec: { unschedulable: true } }, null, null);
  run.run(15 * second);
  t.equal(run.events('NodeNotSchedulable').length, 1);
  run.admin.patch('nodes', 'n1', { spec: { unschedulable: null } }, null, null);
  run.run(15 * second);
  t.equal(run.events('NodeSchedulable').length, 1);
});

t.test('the log says which call of a registration has failed', async (t) => {
  for (const [operation, failure] of [
    ['create.nodes', 'Unable to register node with API server'],
    ['get.nodes', 'Unable to register node with API server, error getting existing node'],
    ['patch.nodes/status', 'Unable to reconcile node with API server,error updating node'],
  ] as const) {
    let lines: string[] = [];
    const log: SimClusterOptions['log'] = (_node, _now, _level, message, fields) => {
      if (/regist|reconcile/.test(message)) lines.push(`${message}: ${fields.err ?? ''}`);
    };
    const run = new NodeRun({ log }).run(20 * second);
    t.strictSame(lines, ['Successfully registered node: '], 'a new node');
    const node = run.cluster.node();
    node.kill();
    lines = [];
    // What the patch has to change.
    run.admin.patch('nodes', 'n1', { metadata: { labels: { 'kubernetes.io/hostname': 'other' } } }, null, null);
    run.cluster.apiserver.setFaults([{ operation, trigger: {}, action: { kind: 'error', code: 500, message: 'out of order', retryAfterSeconds: null } }], run.cluster.now);
    node.start();
    run.run(5 * second);
    const before = operation === 'patch.nodes/status' ? ['Node was previously registered: '] : [];
    t.strictSame(lines.slice(0, before.length + 1), [...before, `${failure}: out of order`], operation);
    run.cluster.apiserver.setFaults([], run.cluster.now);
    lines = [];
    run.run(20 * second);
    t.strictSame(lines, ['Node was previously registered: ', 'Successfully registered node: '], `${operation} works again`);
    t.equal(run.node?.metadata.labels?.['kubernetes.io/hostname'], 'n1');
  }
});

t.test('the same seed gives the same run', async (t) => {
  const hash = () => new NodeRun({ hash: true }).run(3 * minute).cluster.hash;
  t.equal(hash(), hash());
});
