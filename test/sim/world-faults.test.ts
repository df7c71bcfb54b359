// A fault plan on the commands of a simulated node.
import t from 'tap';
import type { KubeletOperations } from '../../src/domain/agent/kubelet.js';
import type { Command } from '../../src/domain/kernel/machine.js';
import { type FaultAction, FaultPlan, worldFaults } from '../../src/sim/index.js';

const rows: readonly (readonly [action: FaultAction, timeoutMicros: number | null, want: object])[] = [
  [{ kind: 'error', moment: 'before', error: 'unavailable', message: 'm' }, null, { kind: 'fail', error: 'unavailable', committed: false, message: 'm' }],
  [{ kind: 'error', moment: 'after', error: 'internal', message: 'm' }, null, { kind: 'fail', error: 'internal', committed: true, message: 'm' }],
  [{ kind: 'delay', moment: 'before', micros: 5 }, null, { kind: 'delay', by: 5 }],
  [{ kind: 'hang', moment: 'after' }, 7, { kind: 'delay', by: 7 }],
  [{ kind: 'hang', moment: 'after' }, null, { kind: 'delay', by: 3_600_000_000 }],
];

t.test('what a planned fault is for a command', async (t) => {
  for (const [action, timeoutMicros, want] of rows) {
    const faults = worldFaults(new FaultPlan([{ operation: 'containers.*', trigger: { nth: 2 }, action }], 1, 0));
    const command = (op: keyof KubeletOperations) =>
      ({ id: 1, op, address: { machine: 'm', key: '' }, slot: '', request: null, timeoutMicros, answered: true }) as unknown as Command<KubeletOperations>;
    t.equal(faults(command('containers.start'), 1), null, 'the first call');
    t.equal(faults(command('sandboxes.stop'), 1), null, 'another operation');
    t.strictSame(faults(command('containers.start'), 1), want);
    t.equal(faults(command('containers.start'), 1), null, 'the third call');
  }
});
