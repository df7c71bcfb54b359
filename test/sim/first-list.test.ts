// Five hundred pods in the first list: they are begun a few at a time, so that nothing else of the agent waits for them.
import t from 'tap';
import type { KubeletState } from '../../src/domain/agent/kubelet.js';
import { kubeletMachine, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(300_000);

const count = 500;

t.test('no step begins more than a few of them, and all of them run', async (t) => {
  const begun: number[] = [];
  let begunWithTheList = 0;
  const agent = (state: KubeletState) => {
    const machine = kubeletMachine(state);
    return {
      step: (...[current, input, turn]: Parameters<typeof machine.step>): void => {
        const before = current.agent.workers.records.size;
        machine.step(current, input, turn);
        begun.push(current.agent.workers.records.size - before);
        if (input.type === 'reply' && 'op' in input && input.op === 'apiReader.list') begunWithTheList += begun.at(-1) ?? 0;
      },
    };
  };
  const latencies = { runSandbox: 1_000, createContainer: 1_000, startContainer: 1_000, pull: 1_000 };
  const cluster = new SimCluster({ seed: 1, apiserver: {}, node: { maxPods: 600 }, runtimeSendsEvents: true, checkers: [], agent, runtime: { latencies } });
  const world = new ApiWorld(cluster, t);
  world.run(5 * second);
  world.node.kill();
  for (let i = 0; i < count; i++) world.create(`p${i}`);
  world.create('last', { grace: 1 });
  world.node.start();
  begun.length = 0;
  world.run(200_000);
  world.remove('last');
  const running = () => world.node.containers().filter(({ state }) => state === 'running').length;
  world.until('all of them run', () => running() >= count && world.get('last') === null, 20 * minute);
  t.equal(running(), count, 'and none besides');
  t.ok(Math.max(...begun) <= 2, `at most ${Math.max(...begun)} in one step`);
  t.equal(begunWithTheList, 0, 'none in the step that takes the list in');
  t.equal(world.pods.length, count);
});
