// An apiserver under load, and one whose answers are all lost: from the first request of a node on.
import t from 'tap';
import { isMirrorPod } from '../../src/domain/values/pod-kind.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node } from '../../src/ports/model/node.js';
import { type ApiFaultRule, SimCluster } from '../../src/sim/index.js';
import { scene } from './api-scene.js';
import { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

const leases = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
const nodes = { group: '', version: 'v1', plural: 'nodes' };

function askedByNode(world: ApiWorld, since: number): { readonly verb: string; readonly resource: string }[] {
  return world.cluster.apiserver.audit.entries.filter(({ user, at }) => user === `system:node:${world.node.name}` && at >= since).map(({ verb, resource }) => ({ verb, resource }));
}

t.test('every write of a new node is done, and none is answered', async (t) => {
  for (const runtimeSendsEvents of [false, true]) {
    const cluster = new SimCluster({ seed: 7, apiserver: { auditLimit: 100_000 }, node: {}, runtimeSendsEvents });
    const rules = ['create.*', 'update.*', 'patch.*', 'delete.*'].map((operation): ApiFaultRule => ({ operation, trigger: {}, action: { kind: 'lost' } }));
    cluster.apiserver.setFaults(rules, cluster.now, true);
    const world = new ApiWorld(cluster, t).look();
    world.node.put('s.yaml', podOf('s'));
    world.run(10 * second);
    world.create('a');
    world.create('job', { policy: 'Never', containers: { c: 'run=5s,exit=3' } });
    world.create('goes', { grace: 5 });
    world.untilReady('a', 'goes', `s-${world.node.name}`);
    const ids = world.node.containers().map(({ id }) => id);
    world.remove('goes');
    world.untilGone('goes');
    world.until('the job has failed', () => world.status('job').phase === 'Failed');
    world.run(10 * minute);
    const node = cluster.apiserver.object(nodes, null, world.node.name) as unknown as Node;
    t.match(
      node.status?.conditions?.find(({ type }) => type === 'Ready'),
      { status: 'True' },
    );
    const lease = cluster.apiserver.object(leases, 'kube-node-lease', world.node.name) as unknown as Lease;
    t.equal(lease.metadata.ownerReferences?.[0]?.uid, node.metadata.uid, 'the lease is the node’s');
    t.ok(Date.parse(lease.spec.renewTime ?? '') * 1000 > cluster.now - 15 * second, 'and lives');
    t.equal(new Set(world.seen.filter(({ pod }) => isMirrorPod(pod)).map(({ pod }) => pod.metadata.uid)).size, 1, 'one mirror pod was made, once');
    t.match(world.status('job').containerStatuses?.[0]?.state?.terminated, { exitCode: 3 });
    t.strictSame(world.node.containers().filter(({ id }) => !ids.includes(id)).length, 0, 'nothing was started again');
    const since = cluster.now;
    world.run(5 * minute);
    const counts = new Map<string, number>();
    for (const { verb, resource } of askedByNode(world, since)) counts.set(`${verb} ${resource}`, (counts.get(`${verb} ${resource}`) ?? 0) + 1);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    t.ok(total < 5 * 60 * 5, `${total} requests in five minutes: ${JSON.stringify(Object.fromEntries(counts))}`);
    cluster.apiserver.setFaults([], cluster.now);
    world.run(2 * minute);
    t.strictSame(cluster.violations, []);
    t.strictSame(world.problems(), []);
  }
});

const pods = 60;

scene(
  'sixty statuses at once, and a server that takes two seconds for each and refuses half of them',
  (world, t) => {
    const rules: readonly ApiFaultRule[] = [
      { operation: 'patch.pods/status', trigger: {}, action: { kind: 'latency', micros: 2 * second } },
      { operation: 'patch.pods/status', trigger: { probability: 0.5 }, action: { kind: 'error', code: 429, message: 'slow down', retryAfterSeconds: 1 } },
    ];
    world.cluster.apiserver.setFaults(rules, world.cluster.now, true);
    const names = Array.from({ length: pods }, (_, i) => `p${i}`);
    for (const name of names) world.create(name);
    const running = () => world.node.containers().filter(({ state }) => state === 'running').length;
    world.until('all of them run, whatever the API is told', () => running() === pods, 3 * minute);
    world.until('all are told to be ready', () => names.every((name) => world.isReady(name)), 15 * minute);
    const refused = world.cluster.apiserver.faultCounts[1] ?? 0;
    t.ok(refused > 20, `${refused} were refused`);
    const done = askedByNode(world, 0).filter(({ verb, resource }) => verb === 'patch' && resource === 'pods/status').length - refused;
    t.ok(done <= 5 * pods, `${done} writes that were done for ${pods} pods: what piles up is one write`);
    for (const name of names) world.remove(name, 1);
    world.until('all are gone', () => world.pods.length === 0, 15 * minute);
    t.equal(running(), 0);
  },
  { apiserver: { auditLimit: 100_000 } },
);
