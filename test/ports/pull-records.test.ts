// Intents and records of image pulls: one contract on the model and on files, and what a kill, a stranger or a broken disk leaves on files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { failingPort } from '../../src/adapters/decorators/index.js';
import { FilePullRecords } from '../../src/adapters/storage/index.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { PullRecordOperations } from '../../src/ports/outbound/pull-records.js';
import { PortError } from '../../src/ports/port-error.js';
import type { HostOperationName } from '../../src/sim/host/host-ports.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { portErrorOf } from '../support/port-failures.js';
import { pullRecordsContract, quietCall } from './pull-records.contract.js';

/** The asynchronous face of a model. */
function modelled(): PortOf<PullRecordOperations> {
  const host = new SimHost({ seed: 1 });
  const operation = (name: string) => async (request: never, call: Call) => {
    const op = `pullRecords.${name}` as HostOperationName;
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: '', operation: op, subject: '' });
    const { outcome } = host.handle(op, request, 0);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  return new Proxy({}, { get: (_, name) => operation(String(name)) }) as PortOf<PullRecordOperations>;
}

function rootFor(t: Test): string {
  const rootDirectory = mkdtempSync(join(tmpdir(), 'pull-records-'));
  t.teardown(() => rmSync(rootDirectory, { recursive: true }));
  return rootDirectory;
}

function opened(t: Test, rootDirectory: string): FilePullRecords {
  const records = FilePullRecords.open({ rootDirectory });
  t.teardown(() => records.close());
  return records;
}

const one = `sha256-${'1'.repeat(64)}`;

t.test('the model', (t) => pullRecordsContract(t, modelled()));
t.test('files', (t) => pullRecordsContract(t, opened(t, rootFor(t))));

t.test('a port that fails says so for each operation', async (t) => {
  const port = failingPort('pullRecords', 'unavailable', 'the disk is away');
  t.match(await portErrorOf(port.list({ kind: 'pulled' }, quietCall)), { kind: 'unavailable', operation: 'pullRecords.list', message: 'the disk is away' });
  t.match(await portErrorOf(port.read({ kind: 'pulled', name: one }, quietCall)), { kind: 'unavailable', operation: 'pullRecords.read' });
  t.match(await portErrorOf(port.write({ kind: 'pulled', name: one, text: '' }, quietCall)), { kind: 'unavailable', operation: 'pullRecords.write' });
  t.match(await portErrorOf(port.remove({ kind: 'pulled', name: one }, quietCall)), { kind: 'unavailable', operation: 'pullRecords.remove' });
});

t.test('only the agent can read them, where the other kubelet has them', async (t) => {
  const rootDirectory = rootFor(t);
  const records = opened(t, rootDirectory);
  await records.write({ kind: 'pulled', name: one, text: '{}' }, quietCall);
  const mode = (path: string) => statSync(join(rootDirectory, 'image_manager', path)).mode & 0o7777;
  t.strictSame([mode('pulled'), mode('pulling'), mode(`pulled/${one}`)], [0o700, 0o700, 0o600]);
});

t.test('what a kill left half-written, and what is no record, is left out', async (t) => {
  const rootDirectory = rootFor(t);
  const directory = join(rootDirectory, 'image_manager/pulled');
  mkdirSync(directory, { recursive: true });
  for (const name of [`.${one}.tmp`, `${one}.tmp`, 'notes', '.hidden', one]) writeFileSync(join(directory, name), name);
  mkdirSync(join(directory, `sha256-${'d'.repeat(64)}`));
  symlinkSync('/etc/passwd', join(directory, `sha256-${'e'.repeat(64)}`));
  const records = opened(t, rootDirectory);
  t.strictSame(await records.list({ kind: 'pulled' }, quietCall), [{ name: one, text: one }]);
  t.notOk(readdirSync(directory).includes(`.${one}.tmp`), 'our own half is gone');
  t.match(await portErrorOf(records.read({ kind: 'pulled', name: `sha256-${'e'.repeat(64)}` }, quietCall)), { kind: 'permission-denied' }, 'a link is not followed');
  t.match(await portErrorOf(records.read({ kind: 'pulled', name: `sha256-${'d'.repeat(64)}` }, quietCall)), { kind: 'permission-denied' });
});

t.test('bytes that are no text are text that is no record', async (t) => {
  const rootDirectory = rootFor(t);
  const records = opened(t, rootDirectory);
  writeFileSync(join(rootDirectory, 'image_manager/pulled', one), new Uint8Array([0xff, 0x00, 0xfe, 0x7b]));
  t.equal(await records.read({ kind: 'pulled', name: one }, quietCall), '\uFFFD\0\uFFFD{', 'the domain says that it is none');
  t.equal((await records.list({ kind: 'pulled' }, quietCall)).length, 1, 'and the others are read beside it');
});

t.test('kill -9 in the middle of writes: each file is whole, the old or the new', async (t) => {
  const rootDirectory = rootFor(t);
  const writer = `
    import { FilePullRecords } from ${JSON.stringify(fileURLToPath(new URL('../../src/adapters/storage/index.js', import.meta.url)))};
    const records = FilePullRecords.open({ rootDirectory: ${JSON.stringify(rootDirectory)} });
    const call = { signal: { aborted: false, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
    process.stdout.write('up');
    for (let n = 0; ; n++) await records.write({ kind: 'pulled', name: ${JSON.stringify(one)}, text: String(n % 10).repeat(200_000) }, call);`;
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    // A different number of turns of this loop each time: the kill comes at another place of the write.
    for (let turn = 0; turn < 50 * round; turn++) await new Promise(setImmediate);
    child.kill('SIGKILL');
    await once(child, 'close');
    const records = FilePullRecords.open({ rootDirectory });
    const [file] = await records.list({ kind: 'pulled' }, quietCall);
    t.ok(file === undefined || /^(\d)\1{199999}$/.test(file.text), `round ${round}: whole`);
    t.ok(
      readdirSync(join(rootDirectory, 'image_manager/pulled')).every((name) => name === one),
      'nothing else is left',
    );
    await records.close();
  }
});
