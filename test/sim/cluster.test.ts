// The world's public API: runs that repeat, forks that stay equal, agents that die, faults that occur, records that replay.
import t from 'tap';
import { replay } from '../../src/domain/kernel/flight-recorder.js';
import { clonePlain } from '../../src/domain/kernel/plain-clone.js';
import { kubeletMachine, SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(300_000);

function busy(options: Partial<SimClusterOptions> = {}): SimCluster {
  const cluster = new SimCluster({ seed: 3, nodes: ['n1', 'n2'], hash: true, ...options });
  for (const name of cluster.nodeNames) {
    cluster.node(name).put('a.yaml', podOf('a', { containers: { c: 'run=3s,exit=1' } }));
    cluster.node(name).put('b.yaml', podOf('b', { policy: 'OnFailure', containers: { c: 'run=20s,exit=1; run=5s', d: 'run=40s' } }));
  }
  return cluster;
}

t.test('a fork goes on like its origin, and by itself', async (t) => {
  for (const runtimeSendsEvents of [false, true]) {
    const cluster = busy({
      runtimeSendsEvents,
      faults: [{ operation: '*', trigger: { probability: 0.02 }, action: { kind: 'error', moment: 'after', error: 'internal', message: 'planned' } }],
    });
    // In the middle of everything: answers, wake-ups and model events are under way.
    cluster.run(9_876_543);
    const kept = cluster.snapshot();
    const fork = cluster.fork();
    fork.run(3 * minute);
    const before = cluster.stateHash();
    t.not(fork.stateHash(), before);
    t.equal(SimCluster.from(kept).stateHash(), before, 'the origin did not move');
    cluster.run(3 * minute);
    t.equal(fork.hash, cluster.hash);
    t.equal(fork.stateHash(), cluster.stateHash());
    const again = SimCluster.from(kept);
    again.run(minute);
    again.node('n1').remove('a.yaml');
    again.run(2 * minute);
    t.not(again.hash, cluster.hash, 'another future');
    t.strictSame([...cluster.violations, ...again.violations], []);
  }
});

t.test('the same seed gives the same run, another one another', async (t) => {
  const run = (seed: number) => {
    const cluster = busy({ seed });
    cluster.run(2 * minute);
    return [cluster.hash, cluster.stateHash()];
  };
  t.strictSame(run(1), run(1));
  t.not(run(1)[0], run(2)[0]);
});

t.test('a recorded run replays to the same commands, and a changed one does not', async (t) => {
  const cluster = busy({ record: true, seed: 5 });
  cluster.run(minute);
  const node = cluster.node('n1');
  node.start();
  cluster.run(2 * minute);
  const { seed, steps } = node.recorded;
  const fresh = node.freshState();
  const same = replay(kubeletMachine(fresh), fresh, seed, steps);
  t.ok(steps.length > 100, `${steps.length} steps`);
  t.strictSame(same, { steps: steps.length, divergence: null });
  const other = node.freshState();
  const changed = steps.map((step) =>
    step.input?.type === 'reply' && step.input.op === 'runtime.listPods'
      ? { ...step, input: { ...step.input, outcome: { ok: true, value: { observedAt: step.now, pods: [], foreign: 0, foreignImages: [] } } } }
      : step,
  );
  t.match(replay(kubeletMachine(other), other, seed, changed as unknown as typeof steps), { divergence: { step: Number } });
});

t.test('a killed agent commands nothing, and its containers run on', async (t) => {
  const cluster = new SimCluster({ seed: 1 });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  cluster.run(10 * second);
  const [before] = node.containers('a');
  node.kill();
  const steps = cluster.world.steps;
  node.remove('a.yaml');
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  node.send({ type: 'runtimeChangesLost' });
  cluster.run(5 * minute);
  t.equal(cluster.world.steps, steps);
  node.start();
  cluster.run(10 * second);
  t.match(node.status('a'), { phase: 'Running' });
  t.strictSame(
    node.containers('a').map(({ id, state }) => [id, state]),
    [[before?.id, 'running']],
  );
});

t.test('faults by operation, moment and time', async (t) => {
  const cluster = new SimCluster({
    seed: 1,
    faults: [
      { operation: 'sandboxes.run', trigger: { times: 1 }, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'planned' } },
      { operation: 'containers.create', trigger: { nth: 1 }, action: { kind: 'error', moment: 'after', error: 'internal', message: 'planned' } },
      { operation: 'containers.start', trigger: { nth: 1 }, action: { kind: 'hang', moment: 'after' } },
      { operation: 'images.status', trigger: { fromMicros: 0, untilMicros: minute }, action: { kind: 'delay', moment: 'after', micros: 500_000 } },
    ],
  });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  t.ok(cluster.runUntil(() => node.status('a')?.phase === 'Running' && node.status('a')?.containerStatuses?.[0]?.ready === true, 10 * minute));
  t.match(Object.fromEntries(node.model.struck), {
    'sandboxes.run fails before': 1,
    'containers.create fails after': 1,
    'containers.start hangs': 1,
    'images.status is late': Number,
  });
  t.strictSame(cluster.violations, []);
});

t.test('copies of plain data', async (t) => {
  const shared = { x: 1n };
  const value = { a: shared, b: [shared, undefined, null], c: new Map([[shared, new Set([1])]]), d: Uint8Array.of(1, 2) };
  const copy = clonePlain(value);
  t.strictSame(copy, value);
  t.not(copy.a, shared);
  t.equal(copy.a, copy.b[0], 'shared in the copy as in the original');
  t.equal([...copy.c.keys()][0], copy.a);
  const loop: { self?: unknown } = {};
  loop.self = loop;
  t.equal(clonePlain(loop).self === loop, false);
  for (const odd of [() => 1, { f: () => 1 }, new Date(0), Symbol('s')]) t.throws(() => clonePlain(odd), /is no data/);
});
