// The contract of the node shutdown port: the model, and logind's on a fake one.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { NodeShutdownOperations } from '../../src/ports/outbound/node-shutdown.js';
import { until } from '../support/until.js';
import { quietCall } from './pod-files.contract.js';

export interface NodeShutdownUnderTest {
  readonly port: PortOf<NodeShutdownOperations>;
  /** Whether init waits for exactly one lock. */
  isLocked(): boolean;
  setShuttingDown(active: boolean): void;
}

export async function nodeShutdownContract(t: Test, { port, isLocked, setShuttingDown }: NodeShutdownUnderTest): Promise<void> {
  const needed = { neededSeconds: 5 };
  t.equal(await port.release(null, quietCall), null, 'none is held');
  t.strictSame(await port.inhibit(needed, quietCall), { shuttingDown: false });
  t.ok(isLocked());
  t.strictSame(await port.inhibit(needed, quietCall), { shuttingDown: false }, 'twice');
  await until('... is one lock', isLocked);
  await port.release(null, quietCall);
  t.notOk(isLocked());
  t.equal(await port.release(null, quietCall), null);
  setShuttingDown(true);
  t.strictSame(await port.inhibit(needed, quietCall), { shuttingDown: true }, 'a node that goes down gives no lock');
  t.notOk(isLocked());
  setShuttingDown(false);
  await port.inhibit(needed, quietCall);
  t.ok(isLocked());

  t.equal(await port.readRecord(null, quietCall), null, 'nothing is kept at first');
  await port.writeRecord({ text: '{"a":1}' }, quietCall);
  await port.writeRecord({ text: '{}' }, quietCall);
  t.equal(await port.readRecord(null, quietCall), '{}');
}
