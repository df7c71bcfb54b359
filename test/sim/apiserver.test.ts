// The simulated apiserver: the contract of all apiservers, and how nodes of a world share one.
import t from 'tap';
import type { KubeletOperations } from '../../src/domain/agent/kubelet.js';
import type { Command } from '../../src/domain/kernel/machine.js';
import { SimCluster } from '../../src/sim/index.js';
import { apiserverContract } from '../ports/apiserver.contract.js';
import { SimApiserverShell } from './sim-apiserver-shell.js';

t.test('the simulated apiserver keeps the contract', async (t) => {
  await apiserverContract(t, new SimApiserverShell().underTest());
});

const pods = { group: '', version: 'v1', plural: 'pods' };
const boundPod = (name: string, nodeName: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName, containers: [{ name: 'c', image: 'busybox:1' }] } });
const user = { name: 'admin', groups: ['system:masters'] };

t.test('a node without an apiserver says so', async (t) => {
  const cluster = new SimCluster({ seed: 1 });
  const outcomes: unknown[] = [];
  const request = { resource: pods, namespace: null, name: 'a', client: 'main', resourceVersion: null } as const;
  const command = { id: 1, op: 'apiReader.get', address: { machine: 'x', key: '' }, slot: 's', request, timeoutMicros: null, answered: true } as Command<KubeletOperations>;
  cluster
    .node()
    .model.perform(command, { now: cluster.now, wall: cluster.world.wallOf(cluster.node().name), reply: (_command, _after, outcome) => outcomes.push(outcome), event: () => {} });
  t.match(outcomes, [{ ok: false, error: { kind: 'failed-precondition', operation: 'apiReader.get' } }]);
  t.throws(() => cluster.apiserver, /the world has no apiserver/);
});

t.test('nodes share one server, and a fork has its own', async (t) => {
  const cluster = new SimCluster({ seed: 3, nodes: ['n1', 'n2'], apiserver: {}, hash: true });
  const create = (world: SimCluster, name: string, node: string) =>
    world.apiserver.handle({ user, verb: 'create', resource: pods, namespace: 'default', name: null, subresource: null, body: boundPod(name, node) }, world.now);
  t.equal(create(cluster, 'a', 'n1').code, 201);
  cluster.run(120_000_000);
  const fork = cluster.fork();
  t.equal(create(fork, 'b', 'n2').code, 201);
  const names = (world: SimCluster) => [...world.apiserver.store.all('pods')].map(({ metadata }) => metadata.name);
  t.strictSame(names(cluster), ['a']);
  t.strictSame(names(fork), ['a', 'b']);
  const again = create(cluster, 'b', 'n2').body.metadata as { uid: string };
  const forked = [...fork.apiserver.store.all('pods')][1];
  t.equal(again.uid, forked?.metadata.uid, 'the same writes get the same uids');
});
