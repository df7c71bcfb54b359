// A pod that terminated normally is removed by itself: no other pod is listed or inspected for it. A complete pass is for
// unknown pods, and follows some minutes later anyway.
import t from 'tap';
import type { KubeletState } from '../../src/domain/agent/kubelet.js';
import { kubeletMachine, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

class EndedRun {
  readonly world: ApiWorld;
  private state: KubeletState | null = null;
  private before = new Map<string, number>();

  constructor(tap: { ok(holds: boolean, what: string): unknown }, runtimeSendsEvents: boolean) {
    const agent = (state: KubeletState) => {
      this.state = state;
      return kubeletMachine(state);
    };
    this.world = new ApiWorld(new SimCluster({ seed: 1, apiserver: {}, node: {}, runtimeSendsEvents, agent }), tap);
    this.world.run(5 * second);
    for (let i = 0; i < 10; i++) this.world.create(`other-${i}`);
    for (let i = 0; i < 10; i++) this.world.untilReady(`other-${i}`);
    // What the agent began with is done.
    this.world.run(6 * minute);
    this.mark();
  }

  mark(): void {
    this.before = new Map(this.world.node.model.performed);
  }

  passes(): number {
    return (this.world.node.model.performed.get('podDirectories.list') ?? 0) - (this.before.get('podDirectories.list') ?? 0);
  }

  /** Where anything of the pod is kept or left. */
  left(uid: string): string[] {
    const agent = this.state?.agent;
    const kept: Record<string, boolean | undefined> = {
      worker: agent?.workers.records.has(uid),
      status: agent?.statuses.has(uid),
      computed: agent?.computed.has(uid),
      prepared: agent?.prepared.pods.has(uid),
      write: agent?.api?.statusWrites.pods.has(uid),
      orphan: agent?.orphans.has(uid),
      directory: this.world.node.host.state.podDirectories.has(uid),
    };
    return Object.keys(kept).filter((where) => kept[where] !== false);
  }
}

for (const tells of [true, false]) {
  t.test(tells ? 'with a runtime that tells of changes' : 'with a runtime that is listed each second', async (t) => {
    const run = new EndedRun(t, tells);
    const { world } = run;
    world.patch('other-3', { metadata: { labels: { turn: '1' } } });
    world.run(10 * second);
    t.equal(run.passes(), 0, 'a label');
    const uids: string[] = [];
    for (const [name, grace] of [
      ['a', 1],
      ['b', 30],
    ] as const) {
      uids.push(world.create(name, { grace }).metadata.uid as string);
      world.untilReady(name);
      world.remove(name);
      world.untilGone(name);
    }
    world.run(10 * second);
    for (const uid of uids) t.strictSame(run.left(uid), [], 'nothing is left');
    t.equal(run.passes(), 0, 'and nothing was looked for');
    world.run(90 * second);
    t.strictSame(world.node.containers(uids[0]), [], 'its containers are collected');
    t.equal(run.passes(), 0);
    world.run(5 * minute);
    t.equal(run.passes(), 1, 'a pass comes later all the same');
    world.run(30 * minute);
    t.equal(run.passes(), 1, 'and none after that');
    t.strictSame(world.cluster.violations, []);
  });
}

t.test('what many pods have left is collected some at a time', async (t) => {
  const inFlight: number[] = [];
  const agent = (state: KubeletState) => {
    const machine = kubeletMachine(state);
    return {
      step: (...[current, input, turn]: Parameters<typeof machine.step>): void => {
        machine.step(current, input, turn);
        inFlight.push(current.agent.collection.outstanding);
      },
    };
  };
  const world = new ApiWorld(new SimCluster({ seed: 1, apiserver: {}, node: {}, runtimeSendsEvents: true, agent }), t);
  world.run(5 * second);
  const names = Array.from({ length: 40 }, (_, i) => `p${i}`);
  for (const name of names) world.create(name, { grace: 1 });
  world.untilReady(...names);
  for (const name of names) world.remove(name);
  world.until('all of them are gone', () => world.pods.length === 0);
  t.equal(world.node.sandboxes().length, names.length, 'their sandboxes are there');
  world.until('and are collected', () => world.node.sandboxes().length === 0);
  t.equal(Math.max(...inFlight), 16, 'that many at most side by side');
  t.strictSame(world.cluster.violations, []);
});

t.test('what did not end as it should is found by a pass', async (t) => {
  const run = new EndedRun(t, true);
  const { world } = run;
  const forced = world.create('forced', { grace: 30 }).metadata.uid as string;
  world.untilReady('forced');
  world.remove('forced', 0);
  world.run(minute);
  t.strictSame(run.left(forced), [], 'a pod that went from the API while it ran');
  t.ok(run.passes() >= 1);
  const killed = world.create('killed', { grace: 1 }).metadata.uid as string;
  world.untilReady('killed');
  world.node.kill();
  world.remove('killed', 0);
  world.run(minute);
  world.node.start();
  world.run(3 * minute);
  t.strictSame(run.left(killed), [], 'a pod that went while the agent was away');
  t.equal(world.running(killed), 0);
  t.strictSame(world.cluster.violations, []);
});
