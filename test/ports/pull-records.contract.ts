// The contract of the pull record port: the model, and the files of a node.
import type { Test } from 'tap';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { PullRecordOperations } from '../../src/ports/outbound/pull-records.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';

export const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
const abortedCall: Call = { ...quietCall, signal: { ...quietCall.signal, aborted: true } };

/** How a call failed; it must have. */

async function kindOf(work: () => Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

/** Never a name of one entry in a directory. */
const badNames = ['', '.', '..', '../sha256-x', 'a/b', '/etc', 'a\0b', 'x'.repeat(300)];

export async function pullRecordsContract(t: Test, records: PortOf<PullRecordOperations>): Promise<void> {
  const [one, two] = [`sha256-${'1'.repeat(64)}`, `sha256-${'2'.repeat(64)}`];
  t.strictSame(await records.list({ kind: 'pulling' }, quietCall), [], 'nothing at first');
  t.strictSame(await records.list({ kind: 'pulled' }, quietCall), []);
  t.equal(await records.read({ kind: 'pulled', name: one }, quietCall), null, 'absent');
  t.equal(await records.remove({ kind: 'pulled', name: one }, quietCall), null, 'absent is removed');

  t.equal(await records.write({ kind: 'pulled', name: two, text: 'b' }, quietCall), null);
  t.equal(await records.write({ kind: 'pulled', name: one, text: 'a' }, quietCall), null);
  t.equal(await records.write({ kind: 'pulling', name: one, text: 'p' }, quietCall), null);
  const both = [
    { name: one, text: 'a' },
    { name: two, text: 'b' },
  ];
  t.strictSame(await records.list({ kind: 'pulled' }, quietCall), both, 'in order of name');
  t.strictSame(await records.list({ kind: 'pulling' }, quietCall), [{ name: one, text: 'p' }], 'a kind is a directory of its own');

  const long = `${'é€😀'.repeat(20_000)}\n`;
  await records.write({ kind: 'pulled', name: one, text: long }, quietCall);
  t.equal(await records.read({ kind: 'pulled', name: one }, quietCall), long, 'replaced as a whole');
  const racing = ['x', 'y', 'z'].map((text) => records.write({ kind: 'pulled', name: one, text }, quietCall));
  const removed = records.remove({ kind: 'pulled', name: two }, quietCall);
  await Promise.all([...racing, removed]);
  t.strictSame(await records.list({ kind: 'pulled' }, quietCall), [{ name: one, text: 'z' }], 'one after the other, in the order they were asked for');
  await Promise.all([records.write({ kind: 'pulling', name: two, text: 'q' }, quietCall), records.remove({ kind: 'pulling', name: two }, quietCall)]);
  t.equal(await records.read({ kind: 'pulling', name: two }, quietCall), null, 'a removal after a write removes it');

  for (const name of badNames) {
    const shown = JSON.stringify(name.slice(0, 20));
    t.equal(await kindOf(() => records.read({ kind: 'pulled', name }, quietCall)), 'invalid-argument', `read ${shown}`);
    t.equal(await kindOf(() => records.write({ kind: 'pulled', name, text: '' }, quietCall)), 'invalid-argument', `write ${shown}`);
    t.equal(await kindOf(() => records.remove({ kind: 'pulled', name }, quietCall)), 'invalid-argument', `remove ${shown}`);
  }
  t.equal(await kindOf(() => records.write({ kind: 'pulled', name: two, text: 'late' }, abortedCall)), 'cancelled');
  t.strictSame(await records.list({ kind: 'pulled' }, quietCall), [{ name: one, text: 'z' }], 'a refused or cancelled call does nothing');
}
