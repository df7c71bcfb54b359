// The swarm for long: unseen seeds, from a printed first one. A seed that fails belongs in the list of swarm.test.ts.
import t from 'tap';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { runSeed } from './swarm.js';
import { SwarmCoverage } from './swarm-coverage.js';

const first = Number(process.env.SWARM_FIRST ?? Math.floor(Date.now() / 1000));
const budgetMs = Number(process.env.SWARM_MINUTES ?? 20) * 60_000;
const mostSeeds = 20_000;

t.setTimeout(3 * budgetMs);

t.test(`swarm from seed ${first}`, { timeout: 2 * budgetMs }, async (t) => {
  const coverage = new SwarmCoverage();
  const end = performance.now() + budgetMs;
  let seed = first;
  for (; seed < first + mostSeeds && performance.now() < end; seed++) {
    const { problems, options } = runSeed(seed, coverage);
    if (problems.length > 0) t.strictSame(problems, [], `npm run swarm -- --from ${seed} --seeds 1; options ${canonicalJson(options)}`);
  }
  t.comment([`${seed - first} seeds`, ...coverage.table()].join('\n'));
  t.ok(seed > first + 10, 'it went through some');
});
