// FileLock, ResourceLimits and ServiceManager on flock(2), getrlimit(2) and a datagram socket.
import { closeSync, openSync } from 'node:fs';
import type { NativeBinding } from './binding.d.ts';
import { checked, errno, portErrorFrom, portErrorOf } from './errno.js';
import type { FileLock, HeldFileLock, LimitedResource, ResourceLimit, ResourceLimits, ServiceManager } from './process-controls.js';

export class NativeFileLock implements FileLock {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  async tryAcquire(path: string): Promise<{ kind: 'held'; lock: HeldFileLock } | { kind: 'busy' }> {
    const fd = openLockFile(path);
    return acquired(this, fd);
  }

  async tryLock(fd: number): Promise<boolean> {
    const status = this.#binding.flockTry(fd, true);
    if (status === 0) return true;
    if (status === -errno.EAGAIN) return false;
    throw portErrorOf(status, 'FileLock.tryLock', `descriptor ${fd}`);
  }
}

/** Closes the descriptor unless it holds the lock. */
export async function acquired(locks: FileLock, fd: number): Promise<{ kind: 'held'; lock: HeldFileLock } | { kind: 'busy' }> {
  let isHeld = false;
  try {
    isHeld = await locks.tryLock(fd);
  } finally {
    if (!isHeld) closeSync(fd);
  }
  return isHeld ? { kind: 'held', lock: new DescriptorLock(fd) } : { kind: 'busy' };
}

/** Node opens with O_CLOEXEC, so no child inherits the lock. */
export function openLockFile(path: string): number {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (error) {
    throw portErrorFrom(error, 'FileLock.tryAcquire', path);
  }
}

/** A flock lives as long as the open file it was taken on. */
export class DescriptorLock implements HeldFileLock {
  #fd: number | null;

  constructor(fd: number) {
    this.#fd = fd;
  }

  release(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
  }
}

/** RLIMIT_* of the generic Linux ABI (x86, arm64, riscv, s390). */
const resourceNumbers: Readonly<Record<LimitedResource, number>> = { fsize: 1, stack: 3, core: 4, nproc: 6, nofile: 7, memlock: 8, as: 9 };

const infinity = 2n ** 64n - 1n;

export class NativeResourceLimits implements ResourceLimits {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  limit(resource: LimitedResource): ResourceLimit {
    const limits = this.#binding.limitGet(resourceNumbers[resource]);
    if (typeof limits === 'number') throw portErrorOf(limits, 'ResourceLimits.limit', resource);
    const [soft, hard] = limits;
    return { soft: soft === infinity ? null : soft!, hard: hard === infinity ? null : hard! };
  }

  setLimit(resource: LimitedResource, limit: ResourceLimit): void {
    checked(this.#binding.limitSet(resourceNumbers[resource], limit.soft ?? infinity, limit.hard ?? infinity), 'ResourceLimits.setLimit', resource);
  }
}

/** The part of the environment that sd_notify(3) and sd_watchdog_enabled(3) read. */
export interface ServiceEnvironment {
  readonly notifySocket: string | null;
  readonly watchdogMicros: string | null;
  readonly watchdogPid: string | null;
}

export function serviceEnvironmentOf(environment: Readonly<Record<string, string | undefined>>): ServiceEnvironment {
  return {
    notifySocket: environment.NOTIFY_SOCKET ?? null,
    watchdogMicros: environment.WATCHDOG_USEC ?? null,
    watchdogPid: environment.WATCHDOG_PID ?? null,
  };
}

/** The interval within which `WATCHDOG=1` is due; null when this process isn't watched. */
export function watchdogMicrosOf(environment: ServiceEnvironment, pid: number): number | null {
  if (environment.notifySocket === null || environment.watchdogMicros === null) return null;
  if (environment.watchdogPid !== null && environment.watchdogPid !== String(pid)) return null;
  const micros = /^[0-9]+$/.test(environment.watchdogMicros) ? Number(environment.watchdogMicros) : 0;
  return Number.isSafeInteger(micros) && micros > 0 ? micros : null;
}

export class NativeServiceManager implements ServiceManager {
  readonly #binding: NativeBinding;
  readonly #environment: ServiceEnvironment;

  constructor(binding: NativeBinding, environment: ServiceEnvironment) {
    this.#binding = binding;
    this.#environment = environment;
  }

  notify(lines: readonly string[]): 'sent' | 'unsupervised' {
    const { notifySocket } = this.#environment;
    if (notifySocket === null) return 'unsupervised';
    checked(this.#binding.sdNotify(notifySocket, lines.join('\n')), 'ServiceManager.notify', notifySocket);
    return 'sent';
  }

  watchdogMicros(): number | null {
    return watchdogMicrosOf(this.#environment, process.pid);
  }
}
