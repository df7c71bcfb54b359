// The swarm: many seeds, each a world with its own options, pods and accidents. One seed again, with its log:
//   SWARM_SEED=<seed> node --enable-source-maps dist/test/sim/swarm.test.js
import t from 'tap';
import { runSeed } from './swarm.js';
import { SwarmCoverage } from './swarm-coverage.js';
import { swarmOptions } from './swarm-options.js';

/** Seeds that once found a bug, with the bug. They stay for ever. */
const pastFailures: readonly (readonly [seed: number, bug: string])[] = [
  [146, 'containers of pods that were let go after the last round of collection stayed for ever'],
  [211, 'the same, with one pod'],
  [286, 'the same, on the second of two nodes'],
];
const seeds = Array.from({ length: 40 }, (_, i) => i + 1);

const asked = process.env.SWARM_SEED;
const chosen = asked === undefined ? [...pastFailures.map(([seed]) => seed), ...seeds] : [Number(asked)];

t.setTimeout(600_000);

t.test('swarm', { timeout: 480_000 }, async (t) => {
  const coverage = new SwarmCoverage();
  let steps = 0;
  for (const seed of chosen) {
    const result = runSeed(seed, coverage);
    steps += result.steps;
    if (result.problems.length === 0) continue;
    t.strictSame(result.problems, [], `SWARM_SEED=${seed} node --enable-source-maps dist/test/sim/swarm.test.js; options ${JSON.stringify(result.options)}`);
  }
  t.comment([`${chosen.length} seeds, ${steps} steps`, ...coverage.table()].join('\n'));
  if (asked !== undefined) return;
  t.ok(coverage.faultPairs >= 80, `${coverage.faultPairs} pairs of operation and fault, at least 80`);
  t.ok(coverage.statePairs >= 22, `${coverage.statePairs} pairs of worker state and event, at least 22`);
});

t.test('a seed twice is one run', { timeout: 120_000 }, async (t) => {
  for (const seed of [1, 2, 3]) t.equal(runSeed(seed, new SwarmCoverage(), true).hash, runSeed(seed, new SwarmCoverage(), true).hash, JSON.stringify(swarmOptions(seed)));
});
