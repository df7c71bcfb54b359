// Every command of the agent about one pod is sent in the name of that pod, so that a programmer error there is attributed to it (see set-aside).
import t from 'tap';
import { watchingSubjects } from './planted/subjects.js';
import { runSeed } from './swarm.js';
import { SwarmCoverage } from './swarm-coverage.js';

t.setTimeout(600_000);

t.test('every command about one pod, over twelve seeds of the swarm', async (t) => {
  const others = new Map<string, number>();
  const agent = watchingSubjects((op, machine, subject) => {
    // Those say something of all pods, which may be one.
    if (op === 'stateFiles.write' || machine === 'events') return;
    const key = `${op} at ${machine} in the name of ${subject === null ? 'none' : 'another pod'}`;
    others.set(key, (others.get(key) ?? 0) + 1);
  });
  for (let seed = 1; seed <= 12; seed++) runSeed(seed, new SwarmCoverage(), false, agent);
  t.strictSame(Object.fromEntries(others), {});
});
