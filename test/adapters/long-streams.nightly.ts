// Long streams at their full length: 64 MiB each way, 50 rounds of every way, protocol and place in turn, on a machine that has other work to do.
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { everyPlace, type Sessions } from './long-stream-stand.js';
import { name, prepare, roundsOf, runRound, ways } from './long-streams.js';
import { stand } from './mock-streams.js';

t.setTimeout(7_000_000);

const plan = { bytes: 64 * 1024 * 1024, lateMillis: 8_000, port: 8080 };
const turns = 50;
/** Rounds at once. */
const crowd = 4;
const chosen = ways.filter((way) => way !== 'an attached container each way');

t.test('64 MiB, 50 rounds, a loaded machine', async (t) => {
  const others = Array.from({ length: 2 }, () => new Worker('for (;;) {}', { eval: true }));
  t.teardown(() => Promise.all(others.map((worker) => worker.terminate())));
  const at = await stand(t, 'listen=8080');
  const sessions: Sessions = {
    exec: (command, wishes) => at.exec(command, wishes),
    attach: () => Promise.reject(new Error('no round attaches')),
    forward: (ports) => at.forward(ports),
  };
  await prepare(t, sessions, plan.bytes);
  const offered = await everyPlace(t, sessions);
  for (let turn = 0; turn < turns; turn++) {
    // Each turn begins elsewhere in the table, so that all of it is run with every reader.
    const rounds = roundsOf(turn, chosen);
    const some = Array.from({ length: crowd }, (_, i) => rounds[(turn * crowd + i) % rounds.length] as (typeof rounds)[number]);
    await Promise.all(some.map((round) => runRound(t, offered[round.place], round, plan).catch((error: unknown) => t.fail(`${name(round)}: ${String(error)}`))));
  }
});
