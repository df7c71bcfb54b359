// Pods that nothing happens to cost nothing, and what does happen to them is noticed all the same: time that comes, cgroups that vanish,
// facts that change.
import t from 'tap';
import { SimCluster } from '../../src/sim/index.js';
import { minute, podOf, second } from './sim-pods.js';

for (const runtimeSendsEvents of [true, false]) {
  t.test(`pods at rest, ${runtimeSendsEvents ? 'told of changes' : 'looking for them'}`, async (t) => {
    const cluster = new SimCluster({ seed: 1, runtimeSendsEvents });
    const node = cluster.node();
    for (let i = 0; i < 20; i++) node.put(`p${i}.yaml`, podOf(`p${i}`));
    cluster.run(10 * minute);
    t.match(node.status('p7'), { phase: 'Running' });
    const before = new Map(node.model.performed);
    cluster.run(60 * minute);
    const since = (op: string) => (node.model.performed.get(op) ?? 0) - (before.get(op) ?? 0);
    const ofPods = ['runtime.inspectPod', 'podCgroups.exists', 'podCgroups.ensure', 'podDirectories.prepare', 'podDirectories.list', 'events.record', 'images.status'];
    t.strictSame(
      ofPods.filter((op) => since(op) > 0),
      [],
    );
    t.equal(Math.abs(since('podCgroups.list') - 60) <= 1, true, `${since('podCgroups.list')} looks at cgroups`);
    t.equal(Math.abs(since('runtime.listPods') - (runtimeSendsEvents ? 12 : 3600)) <= 20, true, `${since('runtime.listPods')} lists`);
    t.strictSame(cluster.violations, []);
  });

  t.test(`a back-off ends on time, ${runtimeSendsEvents ? 'told of changes' : 'looking for them'}`, async (t) => {
    const cluster = new SimCluster({ seed: 2, runtimeSendsEvents });
    const node = cluster.node();
    node.put('a.yaml', podOf('a', { containers: { c: 'run=5s,exit=1' } }));
    const died = () => node.containers().at(-1)?.finishedAt ?? null;
    for (const [n, backoff] of [0, 10, 20, 40, 80, 160, 300, 300].entries()) {
      t.ok(
        cluster.runUntil(() => node.status('a')?.containerStatuses?.[0]?.restartCount === n && died() !== null, 10 * minute),
        `end of run ${n}`,
      );
      const end = died() ?? 0;
      if (backoff > 0) {
        cluster.run(4 * second);
        t.match(node.status('a')?.containerStatuses?.[0]?.state, { waiting: { reason: 'CrashLoopBackOff' } }, `waits after run ${n}`);
      }
      t.ok(cluster.runUntil(() => died() === null, 10 * minute));
      const waited = (node.containers().at(-1)?.createdAt ?? 0) - end;
      t.equal(waited >= backoff * second && waited < (backoff + 2) * second, true, `run ${n + 1} began after ${waited / second} s`);
    }
    t.ok(node.events('a').filter(({ record }) => record.reason === 'BackOff').length <= 8);
    t.strictSame(cluster.violations, []);
  });
}

t.test('a container without resources that starts again changes nothing of what was actuated', async (t) => {
  const cluster = new SimCluster({ seed: 4, runtimeSendsEvents: true });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=5s,exit=1' } }));
  const restarts = (): number => node.status('a')?.containerStatuses?.[0]?.restartCount ?? 0;
  t.ok(cluster.runUntil(() => restarts() === 1, 10 * minute));
  const { actuated } = node.agent.allocation;
  const before = actuated.get('a');
  t.ok(before);
  t.ok(cluster.runUntil(() => restarts() === 3, 10 * minute));
  t.equal(actuated.get('a'), before, 'the same entry, so the state of all pods is not serialised');
});

t.test('a deadline comes to a pod at rest', async (t) => {
  const cluster = new SimCluster({ seed: 3, runtimeSendsEvents: true });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a', spec: { activeDeadlineSeconds: 300 } }));
  cluster.run(299 * second);
  t.match(node.status('a'), { phase: 'Running' });
  cluster.run(8 * second);
  t.match(node.status('a'), { phase: 'Failed', reason: 'DeadlineExceeded' });
  t.equal(
    node.containers('a').every(({ state }) => state === 'exited'),
    true,
  );
});

t.test('a cgroup that vanishes under running containers is noticed', async (t) => {
  const cluster = new SimCluster({ seed: 4, runtimeSendsEvents: true });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  cluster.run(5 * minute);
  const [a] = node.containers('a');
  const [b] = node.containers('b');
  const { cgroups } = node.host.state;
  const own = [...cgroups].find((name) => name.endsWith('/poda')) ?? '';
  t.ok(cgroups.delete(own));
  cluster.run(2 * minute);
  t.ok(cgroups.has(own), 'made again');
  t.match(
    node.containers('a').map(({ id, state }) => [id === a?.id, state]),
    [
      [true, 'exited'],
      [false, 'running'],
    ],
  );
  t.strictSame(
    node.containers('b').map(({ id, state }) => [id, state]),
    [[b?.id, 'running']],
  );
});

t.test('the loop goes on between two lists of a runtime that tells of changes', async (t) => {
  const cluster = new SimCluster({ seed: 5, runtimeSendsEvents: true });
  const node = cluster.node();
  for (let i = 0; i < 10; i++) {
    cluster.run(65 * second);
    node.put(`p${i}.yaml`, podOf(`p${i}`));
    t.ok(
      cluster.runUntil(() => node.status(`p${i}`)?.phase === 'Running', 20 * second),
      `after ${65 * (i + 1)} s`,
    );
  }
});

t.test('new facts of the node show in the status of pods at rest', async (t) => {
  const cluster = new SimCluster({ seed: 6, runtimeSendsEvents: true });
  const node = cluster.node();
  node.put('a.yaml', podOf('a'));
  cluster.run(5 * minute);
  t.equal(node.status('a')?.hostIP, undefined);
  node.send({ type: 'nodeFacts', facts: { ...node.agent.nodeFacts, nodeAddresses: [{ type: 'InternalIP', address: '192.0.2.7' }] } });
  cluster.run(second);
  t.equal(node.status('a')?.hostIP, '192.0.2.7');
});

t.test('what is due in a world does not grow with its age', async (t) => {
  const cluster = new SimCluster({ seed: 7, runtimeSendsEvents: true });
  for (let i = 0; i < 5; i++) cluster.node().put(`p${i}.yaml`, podOf(`p${i}`, { containers: { c: 'run=2s,exit=1' } }));
  cluster.run(30 * minute);
  const young = cluster.world.data().due.length;
  cluster.run(300 * minute);
  const old = cluster.world.data().due.length;
  t.ok(old <= young + 10, `${young} entries, then ${old}`);
});
