// Stops that the runtime gives up, and an agent that is killed in the middle of one: no container gets less than its grace period.
import t from 'tap';
import type { PortErrorKind } from '../../src/ports/port-error.js';
import { type AnyChecker, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(300_000);

interface Asked {
  readonly op: string;
  readonly grace: number;
  readonly at: number;
}

/** A pod that takes 8 s of its 30 s to end, deleted; `asked` has the stops of its container and of its sandbox, by seconds since the deletion. */
function deletion(runtimeSendsEvents: boolean): { readonly world: ApiWorld; readonly uid: string; readonly asked: readonly Asked[]; readonly remove: () => void } {
  const asked: Asked[] = [];
  let since = 0;
  const stops: AnyChecker = {
    name: 'stops',
    fresh: () => null,
    look(_memory, what, { now }) {
      if (what.kind !== 'command' || (what.command.op !== 'containers.stop' && what.command.op !== 'sandboxes.stop')) return;
      const grace = what.command.op === 'containers.stop' ? what.command.request.gracePeriodSeconds : 0;
      asked.push({ op: what.command.op, grace, at: Math.round((now - since) / second) });
    },
  };
  const world = new ApiWorld(new SimCluster({ seed: 5, apiserver: {}, node: {}, runtimeSendsEvents, checkers: [stops] }), t);
  world.run(3 * second);
  const { uid = '' } = world.create('a', { grace: 30, containers: { c: 'run=forever,term=8s,term-exit=0' } }).metadata;
  world.untilReady('a');
  const remove = (): void => {
    since = world.cluster.now;
    world.remove('a');
  };
  return { world, uid, asked, remove };
}

const rows: readonly (readonly [error: PortErrorKind, times: number, graces: readonly number[]])[] = [
  ['unavailable', 1, [30, 29]],
  ['cancelled', 1, [30, 29]],
  ['unavailable', 5, [30, 29, 28, 27, 26, 25]],
];
for (const runtimeSendsEvents of [true, false]) {
  for (const [error, times, graces] of rows) {
    t.test(`a stop is answered with ${error}, ${times} times: the rest of the grace period is asked for`, async (t) => {
      const { world, uid, asked, remove } = deletion(runtimeSendsEvents);
      world.node.setFaults([{ operation: 'containers.stop', trigger: { times }, action: { kind: 'error', moment: 'before', error, message: 'the runtime restarts' } }]);
      remove();
      world.untilGone('a');
      t.strictSame(
        asked.filter(({ op }) => op === 'containers.stop').map(({ grace }) => grace),
        graces,
      );
      const sandbox = asked.find(({ op }) => op === 'sandboxes.stop');
      t.ok(sandbox !== undefined && sandbox.at >= times + 8, `the sandbox is stopped ${sandbox?.at} s after the deletion, once the container has ended by itself`);
      t.strictSame(
        world.node.containers(uid).filter(({ state }) => state === 'running'),
        [],
      );
    });
  }

  t.test('a runtime that gives up every stop is asked until the grace period is over, and no longer', async (t) => {
    const { world, asked, remove } = deletion(runtimeSendsEvents);
    world.node.setFaults([{ operation: 'containers.stop', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'no' } }]);
    remove();
    world.run(29 * second);
    t.strictSame(
      asked.filter(({ op }) => op === 'sandboxes.stop'),
      [],
    );
    const stops = asked.length;
    t.ok(stops >= 25 && stops <= 30, `${stops} stops in 29 s`);
    world.untilGone('a');
  });

  t.test('another failure is no interruption: the sandbox is stopped as before', async (t) => {
    const { world, asked, remove } = deletion(runtimeSendsEvents);
    world.node.setFaults([{ operation: 'containers.stop', trigger: { times: 1 }, action: { kind: 'error', moment: 'before', error: 'internal', message: 'no' } }]);
    remove();
    world.until('the sandbox is being stopped', () => asked.some(({ op }) => op === 'sandboxes.stop'), minute);
    t.strictSame(
      asked.slice(0, 2).map(({ op }) => op),
      ['containers.stop', 'sandboxes.stop'],
    );
  });

  t.test('an agent that is killed in the middle of a stop gives the whole grace period once more', async (t) => {
    const { world, asked, remove } = deletion(runtimeSendsEvents);
    remove();
    world.run(4 * second);
    world.node.kill();
    world.run(second);
    world.node.start();
    world.untilGone('a');
    t.strictSame(
      asked.filter(({ op }) => op === 'containers.stop').map(({ grace }) => grace),
      [30, 30],
    );
  });
}
