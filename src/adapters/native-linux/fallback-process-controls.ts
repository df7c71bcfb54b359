// FileLock, ResourceLimits and ServiceManager without the addon: flock(1), prlimit(1), systemd-notify(1).
// Invariant: the lock is on this process's open file (flock(1) gets it as a descriptor), so it is held exactly as long as the addon's would be.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { portErrorFrom } from './errno.js';
import { acquired, openLockFile, type ServiceEnvironment, watchdogMicrosOf } from './native-process-controls.js';
import type { FileLock, HeldFileLock, LimitedResource, ResourceLimit, ResourceLimits, ServiceManager } from './process-controls.js';

const path = '/usr/sbin:/usr/bin:/sbin:/bin';
/** flock(1)'s exit code for a busy lock, distinct from its other failures. */
const busyExitCode = 75;

export class FallbackFileLock implements FileLock {
  async tryAcquire(lockPath: string): Promise<{ kind: 'held'; lock: HeldFileLock } | { kind: 'busy' }> {
    return acquired(this, openLockFile(lockPath));
  }

  async tryLock(fd: number): Promise<boolean> {
    const result = spawnSync('flock', ['-x', '-n', '-E', String(busyExitCode), '3'], { stdio: ['ignore', 'ignore', 'pipe', fd], env: { PATH: path, LC_ALL: 'C' } });
    if (result.status === 0) return true;
    if (result.status === busyExitCode) return false;
    throw commandError(result, 'unknown', 'FileLock.tryLock', `descriptor ${fd}`);
  }
}

/** Rows of /proc/self/limits. */
const limitNames: Readonly<Record<LimitedResource, string>> = {
  fsize: 'Max file size',
  stack: 'Max stack size',
  core: 'Max core file size',
  nproc: 'Max processes',
  nofile: 'Max open files',
  memlock: 'Max locked memory',
  as: 'Max address space',
};

export class FallbackResourceLimits implements ResourceLimits {
  limit(resource: LimitedResource): ResourceLimit {
    const row = readFileSync('/proc/self/limits', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(limitNames[resource]));
    const [soft, hard] = (row ?? '').slice(limitNames[resource].length).trim().split(/\s+/);
    if (soft === undefined || hard === undefined) {
      throw new PortError({ kind: 'internal', message: `ResourceLimits.limit: no row ${limitNames[resource]}`, operation: 'ResourceLimits.limit', subject: resource });
    }
    return { soft: soft === 'unlimited' ? null : BigInt(soft), hard: hard === 'unlimited' ? null : BigInt(hard) };
  }

  setLimit(resource: LimitedResource, limit: ResourceLimit): void {
    const value = `${limit.soft ?? 'unlimited'}:${limit.hard ?? 'unlimited'}`;
    const result = spawnSync('prlimit', ['--pid', String(process.pid), `--${resource}=${value}`], { env: { PATH: path, LC_ALL: 'C' } });
    if (result.status === 0) return;
    throw commandError(result, /not permitted|permission/i.test(String(result.stderr)) ? 'permission-denied' : 'invalid-argument', 'ResourceLimits.setLimit', resource);
  }
}

export class FallbackServiceManager implements ServiceManager {
  readonly #environment: ServiceEnvironment;

  constructor(environment: ServiceEnvironment) {
    this.#environment = environment;
  }

  notify(lines: readonly string[]): 'sent' | 'unsupervised' {
    const { notifySocket } = this.#environment;
    if (notifySocket === null) return 'unsupervised';
    const result = spawnSync('systemd-notify', [`--pid=${process.pid}`, ...lines], { env: { PATH: path, LC_ALL: 'C', NOTIFY_SOCKET: notifySocket } });
    if (result.status !== 0) throw commandError(result, 'unavailable', 'ServiceManager.notify', notifySocket);
    return 'sent';
  }

  watchdogMicros(): number | null {
    return watchdogMicrosOf(this.#environment, process.pid);
  }
}

function commandError(result: SpawnSyncReturns<Buffer>, kind: PortErrorKind, operation: string, subject: string): PortError {
  if (result.error !== undefined) return portErrorFrom(result.error, operation, subject);
  return new PortError({ kind, message: `${operation} ${subject}: ${String(result.stderr).trim() || `exit ${result.status}`}`, operation, subject });
}
