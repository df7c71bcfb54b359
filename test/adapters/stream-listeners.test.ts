// Streams set up their listeners and timers once: neither a chunk nor a stall adds one.
import { getEventListeners } from 'node:events';
import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { DirectoryWatches } from '../../src/adapters/container-logs/directory-changes.js';
import { Drain } from '../../src/adapters/http-server/index.js';

const chunks = 2_000;

function timersOfProcess(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

t.test('a writer that stalls at each chunk', async (t) => {
  const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => setImmediate(done) });
  const before = slow.listenerCount('drain') + slow.listenerCount('close');
  const drain = new Drain(slow);
  const during = slow.listenerCount('drain') + slow.listenerCount('close');
  let stalls = 0;
  let most = 0;
  for (let i = 0; i < chunks; i++) {
    if (!slow.write('x')) {
      const next = drain.next();
      most = Math.max(most, slow.listenerCount('drain') + slow.listenerCount('close'));
      await next;
      stalls++;
    }
  }
  t.ok(stalls > chunks / 2, `${stalls} stalls`);
  t.equal(most, during, 'no listener of a stall');
  drain.end();
  t.equal(slow.listenerCount('drain') + slow.listenerCount('close'), before, 'and none is left');
});

t.test('a writer whose reader goes while it waits', async (t) => {
  const slow = new Writable({ highWaterMark: 1, write: () => {} });
  slow.write('x');
  const drain = new Drain(slow);
  const waiting = drain.next();
  slow.destroy();
  await waiting;
  await drain.next();
  t.pass('it does not wait for ever');
});

t.test('a follower that waits for each change', async (t) => {
  let report: (kind: 'changed') => void = () => {};
  const watches = new DirectoryWatches((listener) => {
    report = (kind) => listener([{ kind, path: '/logs', name: 'x' } as never]);
    return { add: () => {}, remove: () => {}, close: () => {} } as never;
  });
  const changes = watches.changesOf('/logs');
  const { signal } = new AbortController();
  const timers = timersOfProcess();
  let most = { listeners: 0, timers: 0 };
  for (let i = 0; i < chunks; i++) {
    const next = changes.next(60_000, signal);
    most = { listeners: Math.max(most.listeners, getEventListeners(signal, 'abort').length), timers: Math.max(most.timers, timersOfProcess() - timers) };
    await turn();
    report('changed');
    t.equal(await next, true);
  }
  t.strictSame(most, { listeners: 1, timers: 1 });
  changes.close();
  t.equal(getEventListeners(signal, 'abort').length, 0);
  t.equal(timersOfProcess(), timers, 'nothing is left');
});

t.test('a follower whose caller gives up is woken, in each of its waits', async (t) => {
  const changes = new DirectoryWatches(null).changesOf('/logs');
  t.teardown(() => changes.close());
  for (let i = 0; i < 3; i++) {
    const caller = new AbortController();
    const next = changes.next(600_000, caller.signal);
    caller.abort();
    t.equal(await next, false);
    t.equal(await changes.next(600_000, caller.signal), false, 'a caller that has given up does not wait');
  }
});
