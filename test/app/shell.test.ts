// The daemon's shell between its machine and Node's event loop: many wake-ups due at once yield to other work, and
// commands of the first are sent before the last is processed.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Shell } from '../../src/app/shell/shell.js';
import { Kernel } from '../../src/domain/kernel/kernel.js';
import type { Machine } from '../../src/domain/kernel/machine.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Operation } from '../../src/ports/operation.js';

interface Operations {
  readonly ask: Operation<string, null>;
}

interface State {
  woken: number;
  answered: number;
}

const crowd = 500;

t.test('wake-ups that are due at once', async (t) => {
  const machine: Machine<State, { readonly type: 'begin' }, Operations> = {
    step(state, input, turn) {
      if (input.type === 'begin') for (let i = 0; i < crowd; i++) turn.wakeAt({ machine: 'm', key: String(i) }, turn.now + 1_000);
      else if (input.type === 'reply') state.answered++;
      else {
        state.woken++;
        turn.ask('ask', input.address, 'slot', input.address.key);
      }
    },
  };
  const kernel = new Kernel<State, { readonly type: 'begin' }, Operations>(machine, { woken: 0, answered: 0 }, 1);
  let answeredAtLast = -1;
  let failure: unknown = null;
  const shell = new Shell<State, { readonly type: 'begin' }, Operations>(kernel, {
    perform: async () => null,
    now: () => Math.round(performance.now() * 1_000),
    wall: () => instantOf(0),
    log: () => {},
    record: (_now, input) => {
      if (input === null && kernel.state.woken === crowd && answeredAtLast < 0) answeredAtLast = kernel.state.answered;
    },
    fatal: (error) => {
      failure = error;
    },
  });
  t.teardown(() => shell.stop());
  shell.deliver({ type: 'begin' });
  let most = 0;
  for (let before = 0; kernel.state.answered < crowd && failure === null; ) {
    await nextTurn();
    const { woken } = kernel.state;
    most = Math.max(most, woken - before);
    before = woken;
  }
  t.equal(failure, null);
  t.equal(kernel.state.woken, crowd, 'each once');
  t.ok(most <= 25, `${most} in one turn of the loop`);
  t.ok(answeredAtLast >= crowd - 25, `${answeredAtLast} were answered when the last was woken`);
  t.equal(shell.inFlight, 0);
});

t.test('answers that are there at once, and lead to more', async (t) => {
  const steps = 60;
  const heard: string[] = [];
  const machine: Machine<State, { readonly type: 'begin' }, Operations> = {
    step(state, input, turn) {
      // A step of at least a millisecond.
      for (const began = performance.now(); performance.now() - began < 1; );
      if (input.type === 'begin') for (const key of ['a', 'b', 'c']) turn.ask('ask', { machine: 'm', key }, 'slot', `${key} 0`);
      if (input.type !== 'reply') return;
      state.answered++;
      const { key } = input.address;
      heard.push(key);
      if (state.answered <= steps - 3) turn.ask('ask', { machine: 'm', key }, 'slot', `${key} ${state.answered}`);
    },
  };
  const kernel = new Kernel<State, { readonly type: 'begin' }, Operations>(machine, { woken: 0, answered: 0 }, 1);
  let failure: unknown = null;
  const shell = new Shell<State, { readonly type: 'begin' }, Operations>(kernel, {
    perform: async () => null,
    now: () => Math.round(performance.now() * 1_000),
    wall: () => instantOf(0),
    log: () => {},
    fatal: (error) => {
      failure = error;
    },
  });
  t.teardown(() => shell.stop());
  shell.deliver({ type: 'begin' });
  let most = 0;
  for (let before = 0; kernel.state.answered < steps && failure === null; ) {
    await nextTurn();
    const { answered } = kernel.state;
    most = Math.max(most, answered - before);
    before = answered;
  }
  t.equal(failure, null);
  t.ok(most <= 5, `${most} steps in one turn of the loop`);
  t.equal(heard.join(''), 'abc'.repeat(steps / 3), 'in the order in which they were asked');
  t.equal(shell.inFlight, 0);
  shell.deliver({ type: 'begin' });
  shell.stop();
  await nextTurn();
  t.equal(kernel.state.answered, steps, 'what waits when it stops is dropped');
});
