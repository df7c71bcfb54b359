// A wall clock that is set, by hours and by a second, and behaviour that must not depend on it: back-offs, deadlines, delays of probes, the order of attempts.
// A sleep of the host equals a wall clock that is set forward: the clock of intervals did not advance.
import t from 'tap';
import { readObservedTimes, writeObservedPod, writeObservedTimes } from '../../src/domain/checkpoints/observed-times.js';
import { SimCluster, type SimClusterNode } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

const hour = 60 * minute;
const steps = [
  ['back by two hours', -2 * hour],
  ['forward by two hours', 2 * hour],
  ['back by a second', -second],
  ['forward by a second', second],
  ['an hour asleep', hour],
] as const;

/** Sets the wall clock while no agent runs. */
function setMeanwhile(cluster: SimCluster, node: SimClusterNode, by: number): void {
  node.kill();
  cluster.run(5 * second);
  node.stepWall(by);
  cluster.run(5 * second);
  node.start();
}

/** Or before the agent is killed. */
function setBefore(cluster: SimCluster, node: SimClusterNode, by: number): void {
  node.stepWall(by);
  cluster.run(5 * second);
  node.kill();
  cluster.run(5 * second);
  node.start();
}

const restarts = (node: SimClusterNode): number => node.status('a')?.containerStatuses?.[0]?.restartCount ?? -1;

for (const [what, by] of steps) {
  for (const runtimeSendsEvents of [true, false]) {
    const how = runtimeSendsEvents ? 'told of changes' : 'looking for them';

    t.test(`${what}, ${how}: a crash loop waits as long as ever`, async (t) => {
      const cluster = new SimCluster({ seed: 2, runtimeSendsEvents });
      const node = cluster.node();
      node.put('a.yaml', podOf('a', { containers: { c: 'run=5s,exit=1' } }));
      const died = () => node.containers().at(-1)?.finishedAt ?? null;
      for (const [n, backoff] of [0, 10, 20, 40, 80].entries()) {
        t.ok(
          cluster.runUntil(() => restarts(node) === n && died() !== null, 10 * minute),
          `end of run ${n}`,
        );
        const end = died() ?? 0;
        if (backoff > 0) cluster.run(4 * second);
        node.stepWall(by);
        t.ok(cluster.runUntil(() => died() === null, 10 * minute));
        const waited = (node.containers().at(-1)?.createdAt ?? 0) - end;
        t.ok(waited >= (backoff - 1) * second && waited < (backoff + 2) * second, `run ${n + 1} began after ${waited / second} s`);
        cluster.run(3 * second);
        t.match(node.status('a')?.containerStatuses?.[0], { restartCount: n + 1, state: { running: {} } }, 'the attempt that runs is the one that is shown');
      }
      t.strictSame(cluster.violations, []);
    });

    t.test(`${what}, ${how}: a deadline comes when it comes`, async (t) => {
      const cluster = new SimCluster({ seed: 3, runtimeSendsEvents });
      const node = cluster.node();
      node.put('a.yaml', podOf('a', { uid: 'a', spec: { activeDeadlineSeconds: 300 } }));
      cluster.run(100 * second);
      node.stepWall(by);
      cluster.run(198 * second);
      t.match(node.status('a'), { phase: 'Running' });
      cluster.run(8 * second);
      t.match(node.status('a'), { phase: 'Failed', reason: 'DeadlineExceeded' });
      t.strictSame(cluster.violations, []);
    });

    t.test(`${what}, ${how}: a probe waits for its initial delay`, async (t) => {
      const cluster = new SimCluster({ seed: 4, runtimeSendsEvents });
      const node = cluster.node();
      const probe = { httpGet: { port: 80 }, initialDelaySeconds: 30, periodSeconds: 1, failureThreshold: 1 };
      node.put('a.yaml', podOf('a', { uid: 'a', spec: { containers: [{ name: 'c', image: 'i', readinessProbe: probe }] } }));
      t.ok(cluster.runUntil(() => node.status('a')?.containerStatuses?.[0]?.state?.running !== undefined, minute));
      const startedAt = node.containers('a')[0]?.startedAt ?? 0;
      cluster.run(2 * second);
      node.stepWall(by);
      t.ok(
        cluster.runUntil(() => (node.model.performed.get('probing.http') ?? 0) > 0, 2 * minute),
        'it is tried',
      );
      const waited = cluster.now - startedAt;
      t.ok(waited >= 28 * second && waited < 33 * second, `after ${waited / second} s`);
    });
  }
}

for (const [what, by] of steps) {
  for (const [when, set] of [
    ['while no agent ran', setMeanwhile],
    ['before the agent was killed', setBefore],
  ] as const) {
    t.test(`${what}, ${when}: a deadline comes when it comes`, async (t) => {
      const world = new ApiWorld(new SimCluster({ seed: 3, apiserver: {}, node: {} }), t);
      const { cluster, node } = world;
      cluster.run(20 * second);
      world.create('a', { spec: { activeDeadlineSeconds: 300 } });
      cluster.run(100 * second);
      t.match(node.status('a'), { phase: 'Running' });
      set(cluster, node, by);
      cluster.run(186 * second);
      t.match(node.status('a'), { phase: 'Running' });
      cluster.run(14 * second);
      t.match(node.status('a'), { phase: 'Failed', reason: 'DeadlineExceeded' });
      t.strictSame(cluster.violations, []);
    });

    t.test(`${what}, ${when}: a probe waits for its initial delay`, async (t) => {
      const cluster = new SimCluster({ seed: 4 });
      const node = cluster.node();
      const probe = { httpGet: { port: 80 }, initialDelaySeconds: 60, periodSeconds: 1, failureThreshold: 1 };
      node.put('a.yaml', podOf('a', { uid: 'a', spec: { containers: [{ name: 'c', image: 'i', livenessProbe: probe }] } }));
      t.ok(cluster.runUntil(() => node.status('a')?.containerStatuses?.[0]?.state?.running !== undefined, minute));
      const startedAt = node.containers('a')[0]?.startedAt ?? 0;
      cluster.run(5 * second);
      set(cluster, node, by);
      t.ok(
        cluster.runUntil(() => (node.model.performed.get('probing.http') ?? 0) > 0, 3 * minute),
        'it is tried',
      );
      const waited = cluster.now - startedAt;
      t.ok(waited >= 58 * second && waited < 65 * second, `after ${waited / second} s`);
    });
  }
}

t.test('of another boot nothing is taken over, and what has not come yet is no time of this one', async (t) => {
  const text = writeObservedTimes('b1', 100, new Map([['u', writeObservedPod({ start: { startTime: '2026-01-01T00:00:00Z', at: 50 }, containers: new Map() })]]));
  t.match(readObservedTimes(text, 'b1', 200), { ok: true, value: { upTo: 100 } });
  t.strictSame(readObservedTimes(text, 'b2', 200), { ok: true, value: { bootId: 'b1', upTo: null, pods: new Map() } });
  t.match(readObservedTimes(text, 'b1', 99), { ok: false, error: 'upTo 100 has not come yet' });
});
