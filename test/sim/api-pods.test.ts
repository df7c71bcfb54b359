// Pods of an apiserver on one node, as the person who made them and a watcher see them.
import t from 'tap';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(600_000);

/** Plays it with a runtime that tells of changes and with one that has to be looked at; nothing may be found by a checker or a watcher. */
function play(name: string, scene: (world: ApiWorld, t: Tap) => void, options: Partial<SimClusterOptions> = {}): void {
  t.test(name, { timeout: 300_000 }, async (t) => {
    for (const runtimeTellsChanges of [false, true]) {
      const cluster = new SimCluster({ seed: 7, apiserver: {}, node: {}, runtimeTellsChanges, ...options });
      const world = new ApiWorld(cluster).look();
      scene(world, t);
      t.strictSame(cluster.violations, [], 'no checker found anything');
      t.strictSame(world.problems(), [], 'no watcher saw a step back');
    }
  });
}

type Tap = Parameters<Parameters<typeof t.test>[0]>[0];

play('created, ready, deleted', (world, t) => {
  const { cluster } = world;
  cluster.run(5 * second);
  const { metadata } = world.create('a', { grace: 5 });
  const uid = metadata.uid ?? '';
  t.ok(
    cluster.runUntil(() => world.isReady('a'), minute),
    'it becomes ready',
  );
  cluster.run(minute);
  world.remove('a');
  t.ok(
    cluster.runUntil(() => world.get('a') === null, minute),
    'it goes',
  );
  t.strictSame(world.phases(uid), ['Pending', 'Running', 'Failed']);
  cluster.run(5 * minute);
  t.equal(cluster.node().containers().length, 0);
});
