// Plays a scene on one node of a cluster, with and without events of the runtime.
import t from 'tap';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';

type Tap = Parameters<Parameters<typeof t.test>[0]>[0];

/** No checker may find anything, and no watcher see a step back. */
export function scene(name: string, play: (world: ApiWorld, t: Tap) => void, options: Partial<SimClusterOptions> = {}): void {
  t.test(name, { timeout: 300_000 }, async (t) => {
    for (const runtimeSendsEvents of [false, true]) {
      const cluster = new SimCluster({ seed: 7, apiserver: {}, node: {}, runtimeSendsEvents, ...options });
      const world = new ApiWorld(cluster, t).look();
      world.run(3_000_000);
      play(world, t);
      t.strictSame(cluster.violations, [], 'no checker found anything');
      t.strictSame(world.problems(), [], 'no watcher saw a step back');
    }
  });
}
