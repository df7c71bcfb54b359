// The swarm: many seeds, each a world with its own options, pods and accidents. One seed again:
//   npm run swarm -- --from <seed> --seeds 1
import t from 'tap';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { isWholeSweep, sweepOf } from '../support/sweep.js';
import { runSeed } from './swarm.js';
import { percent, SwarmCoverage } from './swarm-coverage.js';
import { swarmOptions } from './swarm-options.js';

/** Seeds that once found a bug, with the bug. They stay for ever. */
const pastFailures: readonly (readonly [seed: number, bug: string])[] = [
  [43, 'a static pod that began anew under its uid was shown as ended: the API refused each status of it'],
  [264, 'what was cached of a pod that the runtime no longer had stayed when the pod had been let go of before'],
  [1010, 'volumes of a pod whose directory went while they were looked up stayed known for ever'],
  [146, 'containers of pods that were let go after the last round of collection stayed for ever'],
  [211, 'the same, with one pod'],
  [286, 'the same, on the second of two nodes'],
  [56, 'a pod that came again under its UID was said to wait for what an earlier life of it had failed at, and never to end'],
  [141, 'a volume that grew while its pod was at rest was never grown'],
  [52, 'a sidecar that was created when its sandbox ended kept a pod Pending that had nothing left to run'],
  [229, 'the same, with a sidecar that the runtime had nothing of'],
  [44, 'a pod that ended the agent came back at each start, since a successor waited for its end'],
  [910861, 'a start that failed twice took the place of the last termination, and a running pod was said to be Pending'],
];
const seeds = sweepOf(Array.from({ length: 40 }, (_, i) => i + 1));

const chosen = [...pastFailures.map(([seed]) => seed), ...seeds];

t.setTimeout(600_000);

t.test('swarm', { timeout: 480_000 }, async (t) => {
  const coverage = new SwarmCoverage();
  let steps = 0;
  for (const seed of chosen) {
    const result = runSeed(seed, coverage);
    steps += result.steps;
    if (result.problems.length === 0) continue;
    t.strictSame(result.problems, [], `npm run swarm -- --from ${seed} --seeds 1; options ${canonicalJson(result.options)}`);
  }
  t.comment([`${chosen.length} seeds, ${steps} steps`, ...coverage.table()].join('\n'));
  if (!isWholeSweep) return;
  // So few seeds can't meet everything; the whole swarm (`npm run swarm`) has the real floor.
  t.ok(coverage.faultShare >= 0.6, `${percent(coverage.faultShare)} of the pairs of operation and fault, at least 60 %`);
  t.ok(coverage.apiFaultShare >= 0.6, `${percent(coverage.apiFaultShare)} of the pairs of request and fault of the apiserver, at least 60 %`);
  t.ok(coverage.featureShare >= 0.9, `${percent(coverage.featureShare)} of what pods ask for, at least 90 %`);
  t.ok(coverage.stateShare >= 0.9, `${percent(coverage.stateShare)} of the pairs of worker state and event, at least 90 %`);
});

t.test('a seed twice is one run', { timeout: 120_000 }, async (t) => {
  for (const seed of [1, 2, 3]) t.equal(runSeed(seed, new SwarmCoverage(), true).hash, runSeed(seed, new SwarmCoverage(), true).hash, canonicalJson(swarmOptions(seed)));
});
