// The contract of the state file port: the model, and the files of a node.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { StateFileOperations } from '../../src/ports/outbound/state-files.js';
import { portErrorOf } from '../support/port-failures.js';
import { quietCall } from './pull-records.contract.js';

/** Nothing but a plain name of an entry in the directory. */
const badNames = ['', '.', '..', '../cpu_manager_state', 'a/b', '/etc/passwd', 'a\0b', '.hidden', 'UPPER'];

export async function stateFilesContract(t: Test, files: PortOf<StateFileOperations>): Promise<void> {
  const name = 'cpu_manager_state';
  t.equal(await files.read({ name }, quietCall), null, 'absent at first');
  t.equal(await files.write({ name, text: '{"a":1}' }, quietCall), null);
  t.equal(await files.read({ name }, quietCall), '{"a":1}');
  await files.write({ name, text: '{"a":1}' }, quietCall);
  const writes = ['one', 'two', 'ü'.repeat(1000)].map((text) => files.write({ name, text }, quietCall));
  await Promise.all(writes);
  t.equal(await files.read({ name }, quietCall), 'ü'.repeat(1000), 'the last one that was asked for');
  t.equal(await files.read({ name: 'memory_manager_state' }, quietCall), null, 'another file');
  for (const bad of badNames) {
    t.equal((await portErrorOf(files.write({ name: bad, text: '' }, quietCall))).kind, 'invalid-argument', `no file: ${JSON.stringify(bad)}`);
    t.equal((await portErrorOf(files.read({ name: bad }, quietCall))).kind, 'invalid-argument');
  }
}
