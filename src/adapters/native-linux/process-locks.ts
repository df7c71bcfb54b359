// The lock of the root directory against a second agent, and the lock file by which several kubelets hand a node over to each other.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PortError } from '../../ports/port-error.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import type { NativeLinux } from './native-linux.js';

/** Closes what was opened, when the process stops. */
interface Closing {
  add(name: string, close: () => void): void;
}

const rootLockName = 'kubelet-ts.lock';
const rootMode = 0o750;
const retryMillis = 200;

/** Makes the root directory and locks it for this process. The lock ends with the process. */
export async function lockRootDirectory(rootDirectory: string, native: NativeLinux, teardown: Closing): Promise<void> {
  try {
    mkdirSync(rootDirectory, { recursive: true, mode: rootMode });
  } catch (error) {
    throw new StartRefusal(`failed to run Kubelet: root directory: ${error instanceof Error ? error.message : String(error)}`);
  }
  const path = join(rootDirectory, rootLockName);
  const taken = await acquire(native, path);
  if (taken.kind === 'busy') throw new StartRefusal(`failed to run Kubelet: another kubelet runs on the root directory ${rootDirectory} (it holds ${path})`);
  teardown.add('root directory lock', () => taken.lock.release());
}

/** Waits until the file is free. With `onContention` it is watched from then on, and every open or removal is reported. */
export async function holdLockFile(path: string, native: NativeLinux, teardown: Closing, onContention: (() => void) | null): Promise<void> {
  let taken = await acquire(native, path);
  while (taken.kind === 'busy') {
    await delay(retryMillis);
    taken = await acquire(native, path);
  }
  const { lock } = taken;
  teardown.add('lock file', () => lock.release());
  if (onContention === null) return;
  const watch = native.openFileWatch((events) => {
    if (events.some((event) => event.kind === 'gone' || (event.kind === 'entry' && event.change !== 'modified'))) onContention();
  });
  teardown.add('lock file watch', () => watch.close());
  await watch.add(path, 'opened');
}

async function acquire(native: NativeLinux, path: string) {
  try {
    return await native.fileLock.tryAcquire(path);
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    throw new StartRefusal(`failed to run Kubelet: unable to acquire file lock on ${JSON.stringify(path)}: ${error.message}`);
  }
}
