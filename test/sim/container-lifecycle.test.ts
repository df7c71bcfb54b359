// When the containers of a pod start and end, in virtual time: every kind of container under every restart policy, with failures, hooks,
// deadlines and deletes in the middle (spec/containers-and-cri.md, spec/pod-lifecycle.md 14 and 16).
import t from 'tap';
import { SimCluster } from '../../src/sim/index.js';
import { type LifecycleRow, lifecycleRows } from './lifecycle-rows.js';
import { second } from './sim-pods.js';

const none = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0, exec: 0 };
const images = [{ reference: 'busybox', sizeBytes: 1_000_000, present: true }];

interface Played {
  readonly trace: string;
  readonly phase: string;
  readonly violations: readonly unknown[];
}

function play({ pod, removeAt, until }: LifecycleRow): Played {
  const seen = new Map<string, { started: boolean; ended: boolean }>();
  const trace: string[] = [];
  let phase = '';
  let putAt = 0;
  const cluster: SimCluster = new SimCluster({
    seed: 5,
    runtimeSendsEvents: true,
    runtime: { latencies: none, images },
    observe: (_name, _input, { agent }) => {
      phase = agent.statuses.get('p')?.status.phase ?? phase;
      look();
    },
  });
  const note = (at: number, what: string) => trace.push(`${(Math.round((at - putAt) / (second / 10)) / 10).toString()} ${what}`);
  const look = () => {
    for (const { id, config, startedAt, finishedAt, ending } of cluster.node().containers('p')) {
      const known = seen.get(id) ?? { started: false, ended: false };
      seen.set(id, known);
      if (startedAt !== null && startedAt > 0 && !known.started) note(startedAt, `${config.metadata.name}+`);
      if (finishedAt !== null && !known.ended && startedAt !== null) note(finishedAt, `${config.metadata.name}-${ending?.exitCode}`);
      known.started = startedAt !== null;
      known.ended = finishedAt !== null;
    }
  };
  cluster.run(10 * second);
  putAt = cluster.now;
  cluster.node().put('p.yaml', pod);
  if (removeAt !== undefined) {
    cluster.run(removeAt * second);
    cluster.node().remove('p.yaml');
  }
  cluster.run((until - (removeAt ?? 0)) * second);
  look();
  return { trace: trace.join(', '), phase, violations: cluster.violations };
}

t.setTimeout(300_000);

for (const row of lifecycleRows) {
  t.test(row.what, async (t) => {
    const played = play(row);
    t.equal(played.trace, row.trace);
    t.equal(played.phase, row.phase);
    t.strictSame(played.violations, []);
  });
}
