// No byte of a long stream is lost, for every kind of reader: through the kubelet's port, the mock apiserver and the mock runtime. The nightly tier has the
// full length and number of rounds.
import t from 'tap';
import { everyPlace, type Sessions } from './long-stream-stand.js';
import { name, prepare, roundsOf, runRound, ways } from './long-streams.js';
import { stand } from './mock-streams.js';

t.setTimeout(580_000);

const plan = { bytes: 6 * 1024 * 1024, lateMillis: 1_500, port: 8080 };
/** Rounds at once. */
const crowd = 8;
/** A mock container shows what it writes itself, and nothing of its input. */
const chosen = ways.filter((way) => way !== 'an attached container each way');

t.test('each way, protocol and place', async (t) => {
  const at = await stand(t, 'listen=8080');
  const sessions: Sessions = {
    exec: (command, wishes) => at.exec(command, wishes),
    attach: () => Promise.reject(new Error('no round attaches')),
    forward: (ports) => at.forward(ports),
  };
  await prepare(t, sessions, plan.bytes);
  const offered = await everyPlace(t, sessions);
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(String(warning.stack));
  process.on('warning', warned);
  const rounds = roundsOf(0, chosen);
  t.ok(rounds.length > 30, `${rounds.length} rounds`);
  for (let i = 0; i < rounds.length; i += crowd) {
    await Promise.all(
      rounds.slice(i, i + crowd).map((round) => runRound(t, offered[round.place], round, plan).catch((error: unknown) => t.fail(`${name(round)}: ${String(error)}`))),
    );
  }
  process.off('warning', warned);
  t.strictSame(warnings, [], 'Node warned of nothing: no listeners were gathered');
});
