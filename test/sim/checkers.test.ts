// Each checker finds the bug that was planted for it, and finds nothing in the project's own agent.
import t from 'tap';
import { allCheckers, SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { plantedBugs, plantedWorld } from './planted/planted-bugs.js';

t.setTimeout(300_000);

for (const { name, checker, agent, play } of plantedBugs) {
  t.test(`an agent that ${name}`, async (t) => {
    const options = (planted: boolean): SimClusterOptions => ({ ...plantedWorld, ...(planted && agent !== null ? { agent: agent() } : {}) });
    const cluster = new SimCluster(options(true));
    play(cluster);
    t.ok(
      cluster.violations.some((violation) => violation.checker === checker),
      `${checker} says: ${cluster.violations.find((violation) => violation.checker === checker)?.message}`,
    );
    if (agent === null) return;
    const sound = new SimCluster(options(false));
    play(sound);
    t.strictSame(sound.violations, [], 'not of a sound agent');
  });
}

t.test('every checker has a planted bug', async (t) => {
  const found = new Set(plantedBugs.map(({ checker }) => checker));
  t.strictSame(
    allCheckers.map(({ name }) => name).filter((name) => !found.has(name)),
    [],
  );
});
