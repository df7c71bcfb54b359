// The manifest directory port: one contract on the model and on the real adapter, and the model's own guarantees.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LinuxManifestDirectory } from '../../src/adapters/linux/index.js';
import type { PortOf } from '../../src/ports/operation.js';
import type { FileWatch } from '../../src/ports/outbound/file-watch.js';
import type { ManifestDirectoryOperations, ManifestOperations } from '../../src/ports/outbound/manifests.js';
import { PortError } from '../../src/ports/port-error.js';
import { type ManifestOperationName, SimManifests } from '../../src/sim/index.js';
import { FileSourceRun } from '../domain/file-source-harness.js';
import { document, podValue } from '../domain/manifest-samples.js';
import { type ManifestsUnderTest, manifestDirectoryContract } from './manifests.contract.js';

/** The asynchronous face of the model. */
function portOf(manifests: SimManifests): PortOf<ManifestDirectoryOperations> {
  const asked = async <Name extends ManifestOperationName>(op: Name, request: ManifestOperations[Name]['request']): Promise<ManifestOperations[Name]['reply']> => {
    const { outcome } = manifests.handle(op, request);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  return {
    list: (request) => asked('manifestDirectory.list', request),
    readFile: (request) => asked('manifestDirectory.readFile', request),
    watch: (request) => asked('manifestDirectory.watch', request),
  };
}

function simulated(): ManifestsUnderTest {
  const manifests = new SimManifests();
  const path = '/manifests';
  return {
    port: portOf(manifests),
    path,
    makeDirectory: () => manifests.makeDirectory(path),
    put: (name, value) => manifests.put(`${path}/${name}`, document(value)),
    spoil: (name) => manifests.put(`${path}/${name}`, { kind: 'unreadable', message: 'no manifest' }),
    remove: (name) => manifests.remove(`${path}/${name}`),
    removeDirectory: () => manifests.removeDirectory(path),
  };
}

/** Replaces inotify, which has a contract of its own: it only checks whether a path exists. */
function pathWatch(path: string): FileWatch {
  return {
    add: () => {
      if (!existsSync(path)) throw new PortError({ kind: 'not-found', message: path, operation: 'FileWatch.add', subject: path });
    },
    remove: () => {},
    close: () => {},
  };
}

function real(test: Test): ManifestsUnderTest {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'manifests-')));
  const path = join(base, 'manifests');
  test.teardown(() => rmSync(base, { recursive: true }));
  return {
    port: new LinuxManifestDirectory({ openFileWatch: () => pathWatch(path), deliver: () => {} }),
    path,
    makeDirectory: () => mkdirSync(path),
    put: (name, value) => writeFileSync(join(path, name), JSON.stringify(value)),
    spoil: (name) => writeFileSync(join(path, name), '{"a":'),
    remove: (name) => rmSync(join(path, name)),
    removeDirectory: () => rmSync(path, { recursive: true }),
  };
}

t.test('the contract on the model', (t) => manifestDirectoryContract(t, simulated()));
t.test('the contract on a file system', (t) => manifestDirectoryContract(t, real(t)));

t.test('the model gives events exactly while a path is watched, and fails as planned', async (t) => {
  let refusal: 'resource-exhausted' | null = 'resource-exhausted';
  const manifests = new SimManifests(undefined, (op) => (op === 'manifestDirectory.watch' && refusal !== null ? { kind: refusal, message: 'no watch left' } : null));
  manifests.makeDirectory('/m');
  t.equal(manifests.put('/m/a.yaml', document(podValue('a'))), null, 'nothing watches yet');
  const run = await new FileSourceRun({ path: '/m' }, portOf(manifests)).start();
  t.equal(manifests.put('/m/b.yaml', document(podValue('b'))), null, 'nor after a refusal');
  refusal = null;
  await run.pass(20);
  t.strictSame(run.names, ['a-node-a', 'b-node-a'], 'it was found by listing');
  const event = manifests.put('/m/c.yaml', document(podValue('c')));
  t.strictSame(event?.events, [{ kind: 'entry', path: '/m', name: 'c.yaml', change: 'created' }]);
  await run.saw(...(event?.events ?? []));
  t.strictSame(run.names, ['a-node-a', 'b-node-a', 'c-node-a']);
  const gone = manifests.removeDirectory('/m');
  t.strictSame(gone?.events, [{ kind: 'gone', path: '/m' }]);
  await run.saw(...(gone?.events ?? []));
  t.strictSame(run.names, []);
  manifests.makeDirectory('/m');
  manifests.put('/m/a.yaml', document(podValue('a')));
  await run.pass(1);
  t.strictSame(run.names, ['a-node-a'], 'a directory that comes back is found within a second');
  t.match(manifests.handle('manifestUrl.fetch', { url: 'http://x/', headers: {} }), { outcome: { ok: false, error: { kind: 'unavailable' } } });
});
