// A call that hangs is waited for by its retries, instead of being made again.
import t from 'tap';
import { joining } from '../../src/adapters/decorators/index.js';
import type { OutboundPorts } from '../../src/ports/outbound/outbound-ports.js';

interface Made {
  readonly name: string;
  readonly end: (problem?: Error) => void;
}

function port() {
  const made: Made[] = [];
  const work = ({ name }: { readonly name: readonly string[] }): Promise<null> =>
    new Promise((resolve, reject) => made.push({ name: name.join('/'), end: (problem) => (problem === undefined ? resolve(null) : reject(problem)) }));
  const cgroups = { destroy: work, exists: work } as unknown as OutboundPorts['podCgroups'];
  return { made, cgroups: joining('podCgroups', cgroups, ['destroy']) };
}

const call = (controller = new AbortController()) => ({ signal: controller.signal, timeoutMicros: null });

t.test('a call of the same request waits for the one in progress; others are made', async (t) => {
  const { made, cgroups } = port();
  const calls = [cgroups.destroy({ name: ['a'] }, call()), cgroups.destroy({ name: ['a'] }, call()), cgroups.destroy({ name: ['b'] }, call())];
  void cgroups.exists({ name: ['a'] }, call());
  void cgroups.exists({ name: ['a'] }, call());
  t.strictSame(
    made.map(({ name }) => name),
    ['a', 'b', 'a', 'a'],
  );
  for (const { end } of made) end();
  t.strictSame(await Promise.all(calls), [null, null, null]);
  void cgroups.destroy({ name: ['a'] }, call());
  t.equal(made.length, 5, 'afterwards it is made again');
});

t.test('who gives up leaves the call in progress, and a failure reaches all who wait', async (t) => {
  const { made, cgroups } = port();
  const first = cgroups.destroy({ name: ['a'] }, call());
  const controller = new AbortController();
  const second = cgroups.destroy({ name: ['a'] }, call(controller));
  const third = cgroups.destroy({ name: ['a'] }, call());
  controller.abort();
  await t.rejects(second, { message: 'context canceled' });
  t.equal(made.length, 1);
  made[0]?.end(new Error('busy'));
  await t.rejects(first, { message: 'busy' });
  await t.rejects(third, { message: 'busy' });
});
