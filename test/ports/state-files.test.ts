// State files: one contract on the model and on files, and what strangers and kills leave there.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { failingPort } from '../../src/adapters/decorators/index.js';
import { FileStateFiles } from '../../src/adapters/storage/index.js';
import type { PortOf } from '../../src/ports/operation.js';
import type { StateFileOperations } from '../../src/ports/outbound/state-files.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { portErrorOf } from '../support/port-failures.js';
import { quietCall } from './pull-records.contract.js';
import { portOf } from './sim-port.js';
import { stateFilesContract } from './state-files.contract.js';

function directoryFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'state-files-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  return directory;
}

function opened(t: Test, directory: string): FileStateFiles {
  const files = FileStateFiles.open(directory);
  t.teardown(() => files.close());
  return files;
}

t.test('model', async (t) => stateFilesContract(t as unknown as Test, portOf<PortOf<StateFileOperations>>(new SimHost({ seed: 1 }), 'stateFiles')));

t.test('files', async (t) => {
  const directory = directoryFor(t as unknown as Test);
  await stateFilesContract(t as unknown as Test, opened(t as unknown as Test, directory));
  t.strictSame(readdirSync(directory), ['cpu_manager_state'], 'nothing half-written is left');
  t.equal(statSync(join(directory, 'cpu_manager_state')).mode & 0o777, 0o600, 'for the agent alone');
});

t.test('a link or a directory under the name is refused, and what it points to stays', async (t) => {
  const directory = directoryFor(t as unknown as Test);
  const files = opened(t as unknown as Test, directory);
  writeFileSync(join(directory, 'target'), 'mine');
  symlinkSync('target', join(directory, 'cpu_manager_state'));
  mkdirSync(join(directory, 'memory_manager_state'));
  for (const name of ['cpu_manager_state', 'memory_manager_state']) t.equal((await portErrorOf(files.read({ name }, quietCall))).kind, 'permission-denied', name);
  await files.write({ name: 'cpu_manager_state', text: 'new' }, quietCall);
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), 'mine');
  t.equal(await files.read({ name: 'cpu_manager_state' }, quietCall), 'new');
});

t.test('a failing port fails', async (t) => {
  const failing = failingPort('stateFiles', 'unavailable', 'no disk');
  t.equal((await portErrorOf(failing.write({ name: 'a', text: '' }, quietCall))).kind, 'unavailable');
});
