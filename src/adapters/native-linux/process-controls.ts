// Operations of the agent on its own process, through the kernel and the service manager: the lock file, resource limits, readiness.

export interface HeldFileLock {
  /** Idempotent. The file stays: removing it would let two others each lock their own. */
  release(): void;
}

export interface FileLock {
  /** The same of a file that is open already; held until the descriptor is closed. False: another holds it. Doesn't wait. */
  tryLock(fd: number): Promise<boolean>;
  /** Takes an exclusive lock on a file, made with mode 0600 when absent; held until released or the process ends. Doesn't wait. */
  tryAcquire(path: string): Promise<{ readonly kind: 'held'; readonly lock: HeldFileLock } | { readonly kind: 'busy' }>;
}

/** Names of prlimit(1). */
export type LimitedResource = 'nofile' | 'nproc' | 'core' | 'memlock' | 'as' | 'fsize' | 'stack';

/** null: unlimited. */
export interface ResourceLimit {
  readonly soft: bigint | null;
  readonly hard: bigint | null;
}

export interface ResourceLimits {
  limit(resource: LimitedResource): ResourceLimit;
  /** Errors: permission-denied (raising the hard limit), invalid-argument (soft above hard). */
  setLimit(resource: LimitedResource, limit: ResourceLimit): void;
}

export interface ServiceManager {
  /** `KEY=value` lines of sd_notify(3), sent as one message. `unsupervised`: no service manager requested it. Errors: unavailable, not-found (its socket is gone). */
  notify(lines: readonly string[]): 'sent' | 'unsupervised';
  /** The service manager ends us when no `WATCHDOG=1` came for so long; null when it doesn't watch this process. */
  watchdogMicros(): number | null;
}
