// A machine that wakes itself at the time of its wake-up: time would never advance, and the world's error names it.
import t from 'tap';
import { SimCluster } from '../../src/sim/index.js';
import { planted } from './planted/planted-machine.js';
import { second } from './sim-pods.js';

t.test('whoever wakes itself for ever is named', async (t) => {
  const agent = planted({ after: (_state, turn) => turn.wakeAt({ machine: 'sync', key: 'nobody' }, turn.now) });
  t.throws(() => new SimCluster({ seed: 1, agent }).run(second), /node is woken again and again, and time stands still: sync\/nobody/);
});
