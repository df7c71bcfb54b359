// The contracts of FileLock and ResourceLimits.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { FileLock, ResourceLimits } from '../../src/adapters/native-linux/process-controls.js';

export async function fileLockContract(t: Test, locks: FileLock): Promise<void> {
  const lockedForOthers = (path: string): boolean => spawnSync('flock', ['-n', path, 'true']).status === 1;

  await t.test('held, busy, released', async (t) => {
    const path = join(t.testdir({}), 'kubelet.lock');
    const first = await locks.tryAcquire(path);
    t.equal(first.kind, 'held');
    t.equal(statSync(path).mode & 0o777, 0o600);
    t.ok(lockedForOthers(path), 'another process sees it');
    t.equal((await locks.tryAcquire(path)).kind, 'busy');
    if (first.kind !== 'held') return;
    first.lock.release();
    first.lock.release();
    t.notOk(lockedForOthers(path));
    const second = await locks.tryAcquire(path);
    t.equal(second.kind, 'held');
    if (second.kind === 'held') second.lock.release();
  });

  await t.test('a file that is open already', async (t) => {
    const path = join(t.testdir({ file: '' }), 'file');
    const [first, second] = [openSync(path, 'r'), openSync(path, 'r')];
    t.equal(await locks.tryLock(first), true);
    t.ok(lockedForOthers(path));
    t.equal(await locks.tryLock(second), false);
    closeSync(first);
    t.equal(await locks.tryLock(second), true);
    closeSync(second);
    t.notOk(lockedForOthers(path));
  });

  await t.test('a directory that is not there', (t) => t.rejects(locks.tryAcquire('/nonexistent/kubelet.lock'), { name: 'PortError', kind: 'not-found' }));
}

export async function resourceLimitsContract(t: Test, limits: ResourceLimits): Promise<void> {
  // The core limit: nothing in a test depends on it.
  const before = limits.limit('core');
  t.teardown(() => limits.setLimit('core', before));
  limits.setLimit('core', { soft: 0n, hard: before.hard });
  t.strictSame(limits.limit('core'), { soft: 0n, hard: before.hard });
  if (before.hard === null) {
    limits.setLimit('core', { soft: null, hard: null });
    t.strictSame(limits.limit('core'), { soft: null, hard: null });
  }
  t.throws(() => limits.setLimit('core', { soft: 2n, hard: 1n }), { name: 'PortError', kind: 'invalid-argument' });
  const nofile = limits.limit('nofile');
  t.ok(nofile.soft === null || nofile.soft > 0n);
}
