// kill -9 of the agent at any moment, and a start a little later: the same containers, none doubled, none leaked.
import t from 'tap';
import { draw, streamOf } from '../../src/domain/kernel/random.js';
import { SimCluster } from '../../src/sim/index.js';
import { ms, podOf, second } from './sim-pods.js';

/** What runs in the end, however often the agent died: `<pod>/<container>`. */
const wanted = ['e/c', 'i/c', 'm/one', 'm/two', 's/c', 's/side'];

function story(runtimeSendsEvents: boolean): SimCluster {
  const cluster = new SimCluster({ seed: 23, runtimeSendsEvents });
  const node = cluster.node();
  node.put('m.yaml', podOf('m', { uid: 'm', containers: { one: 'run=forever', two: 'run=forever' } }));
  node.put('i.yaml', podOf('i', { uid: 'i', init: { first: 'run=2s', second: 'run=1s' } }));
  node.put('s.yaml', podOf('s', { uid: 's', sidecars: { side: 'term=1s' } }));
  node.put('e.yaml', podOf('e', { env: '1', containers: { c: 'term=2s' } }));
  node.put('r.yaml', podOf('r', { uid: 'r', containers: { c: 'ignore-term' }, grace: 6 }));
  return cluster;
}

function edit(cluster: SimCluster): void {
  cluster.node().put('e.yaml', podOf('e', { env: '2', containers: { c: 'term=2s' } }));
  cluster.node().remove('r.yaml');
}

function running(cluster: SimCluster): Map<string, string> {
  const { labels } = { labels: (id: string) => cluster.node().runtime.state.containers.get(id)?.config.labels ?? {} };
  const live = cluster
    .node()
    .containers()
    .filter(({ state }) => state === 'running');
  return new Map(live.map(({ id }) => [`${(labels(id)['io.kubernetes.pod.name'] ?? '').replace(/-node$/, '')}/${labels(id)['io.kubernetes.container.name']}`, id]));
}

t.setTimeout(300_000);

const editAt = 12 * second;
for (const runtimeSendsEvents of [false, true]) {
  t.test(`50 random moments, ${runtimeSendsEvents ? 'told of changes' : 'looking for changes'}`, { timeout: 240_000 }, async (t) => {
    const origin = story(runtimeSendsEvents);
    const moments = Array.from({ length: 50 }, (_, i) => Math.floor(draw(streamOf(1, 'kill', ''), i) * 25 * second)).sort((a, b) => a - b);
    const start = origin.now;
    let edited = false;
    for (const [i, moment] of moments.entries()) {
      if (moment >= editAt && !edited) {
        origin.world.runUntil(start + editAt);
        edit(origin);
        edited = true;
      }
      origin.world.runUntil(start + moment);
      const fork = origin.fork();
      const before = running(fork);
      fork.node().kill();
      fork.run(Math.floor(draw(streamOf(2, 'pause', ''), i) * 3 * second) + 10 * ms);
      if (!edited) edit(fork);
      fork.node().start();
      fork.run(180 * second);
      const after = running(fork);
      const what = `killed after ${moment / second} s`;
      if (!t.strictSame([...after.keys()].sort(), wanted, `${what}: what is wanted runs`)) continue;
      const stable = wanted.filter((name) => !name.startsWith('e/') && before.has(name));
      t.strictSame(
        stable.map((name) => after.get(name)),
        stable.map((name) => before.get(name)),
        `${what}: what ran runs on`,
      );
      t.equal(fork.node().containers('r').length + fork.node().sandboxes('r').length, 0, `${what}: nothing is left of the pod that went`);
      t.strictSame(
        fork
          .node()
          .sandboxes()
          .filter(({ state }) => state === 'ready').length,
        5 - 1,
        `${what}: one sandbox a pod`,
      );
      t.strictSame(fork.violations, [], what);
    }
  });
}

t.test('killed ten times in a row while starting', async (t) => {
  const cluster = story(true);
  for (let i = 0; i < 10; i++) {
    cluster.run(70 * ms + i * 37 * ms);
    cluster.node().start();
  }
  edit(cluster);
  cluster.run(180 * second);
  t.strictSame([...running(cluster).keys()].sort(), wanted);
  t.strictSame(cluster.violations, []);
});
