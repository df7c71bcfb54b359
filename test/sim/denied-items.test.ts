// A runtime that lists a container, and says that it is not found when it is asked for: its pod waits, the log says why and seldom, and no other pod is concerned.
import t from 'tap';
import type { RuntimeListing } from '../../src/ports/model/runtime-listing.js';
import { type KubeletMachine, type KubeletState, kubeletMachine, SimCluster } from '../../src/sim/index.js';
import { minute, podOf, second } from './sim-pods.js';

const message = 'The runtime lists sandboxes or containers that it says are not found';

interface Ghost {
  /** The pod that has it in the listings; null: none. */
  uid: string | null;
}

/** Adds a container to a pod in each complete listing, as the runtime's answer. */
function withGhost(ghost: Ghost): (state: KubeletState) => KubeletMachine {
  return (state) => {
    const machine = kubeletMachine(state);
    return { step: (given, input, turn) => machine.step(given, haunted(input, ghost), turn) };
  };
}

function haunted<Input>(input: Input, { uid }: Ghost): Input {
  const reply = input as { readonly op?: string; readonly outcome?: { readonly ok: boolean; readonly value: RuntimeListing } };
  if (uid === null || reply.op !== 'runtime.listPods' || reply.outcome?.ok !== true) return input;
  const { value } = reply.outcome;
  const pods = value.pods.map((pod) => (pod.uid === uid ? { ...pod, containers: [...pod.containers, { ...pod.containers[0], id: 'ghost' }] } : pod));
  return { ...input, outcome: { ok: true, value: { ...value, pods } } };
}

for (const runtimeSendsEvents of [false, true]) {
  t.test(runtimeSendsEvents ? 'told of changes' : 'looking for changes', async (t) => {
    const ghost: Ghost = { uid: null };
    const lines: Readonly<Record<string, unknown>>[] = [];
    let looks = 0;
    const cluster = new SimCluster({
      seed: 3,
      runtimeSendsEvents,
      agent: withGhost(ghost),
      log: (_node, _now, _level, text, fields) => {
        if (text === message) lines.push(fields ?? {});
      },
      observe: (_node, input) => {
        const { op, slot } = (input ?? {}) as { readonly op?: string; readonly slot?: string };
        if (op === 'runtime.inspectPod' && slot === 'look/a') looks++;
      },
    });
    const node = cluster.node();
    for (const name of ['a', 'b']) node.put(`${name}.yaml`, podOf(name, { uid: name }));
    t.ok(cluster.runUntil(() => ['a', 'b'].every((name) => node.status(name)?.phase === 'Running'), minute));
    cluster.run(10 * second);
    ghost.uid = 'a';
    const before = looks;
    cluster.run(runtimeSendsEvents ? 6 * minute : 10 * second);
    t.match(lines[0], { podUID: 'a', ids: 'ghost' }, 'it is named');
    cluster.run(30 * minute);
    t.ok(lines.length <= 1 + 36 / 5, `${lines.length} lines`);
    t.ok(looks - before < 230, `${looks - before} inspections in 36 minutes`);
    node.put('c.yaml', podOf('c', { uid: 'c' }));
    t.ok(
      cluster.runUntil(() => node.status('c')?.phase === 'Running', 10 * second),
      'another pod starts',
    );
    t.equal(node.containers('a').filter(({ state }) => state === 'running').length, 1, 'its own container runs on, once');
    ghost.uid = null;
    cluster.run(11 * minute);
    t.equal(node.agent.relist.denied.size, 0, 'it is forgotten');
    const [after, said] = [looks, lines.length];
    cluster.run(10 * minute);
    t.ok(looks - after <= 3 && lines.length === said, `${looks - after} inspections afterwards`);
    node.remove('a.yaml');
    t.ok(
      cluster.runUntil(() => node.containers('a').length === 0, 5 * minute),
      'the pod ends',
    );
    t.strictSame(cluster.violations, []);
  });
}
