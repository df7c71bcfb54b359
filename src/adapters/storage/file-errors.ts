// Maps the kernel's errors for files and directories to port errors, for every adapter that works on the file system.
// Invariant: every error of `carryOut` is a PortError that names the port's operation.
import type { Call } from '../../ports/operation.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { LoopShare } from '../time/index.js';
import { goFileText } from './go-file-text.js';

const kinds: Readonly<Record<string, PortErrorKind>> = {
  ENOENT: 'not-found',
  ENODEV: 'not-found',
  EEXIST: 'already-exists',
  EACCES: 'permission-denied',
  EPERM: 'permission-denied',
  EROFS: 'permission-denied',
  ELOOP: 'permission-denied',
  EXDEV: 'permission-denied',
  EINVAL: 'invalid-argument',
  ENAMETOOLONG: 'invalid-argument',
  ERR_INVALID_ARG_VALUE: 'invalid-argument',
  EBUSY: 'failed-precondition',
  ENOTEMPTY: 'failed-precondition',
  ENOTDIR: 'failed-precondition',
  EISDIR: 'failed-precondition',
  EBADF: 'failed-precondition',
  EMFILE: 'resource-exhausted',
  ENFILE: 'resource-exhausted',
  ENOSPC: 'resource-exhausted',
  EDQUOT: 'resource-exhausted',
  ENOMEM: 'resource-exhausted',
  EIO: 'unavailable',
  ESTALE: 'unavailable',
};

/** The errno's name, '' for anything else. */
export function errnoName(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** A refusal before any system call; `carryOut` adds the operation. */
export class FileRefusal extends Error {
  constructor(
    readonly kind: PortErrorKind,
    message: string,
  ) {
    super(message);
    this.name = 'FileRefusal';
  }
}

export function fileError(error: unknown, operation: string, subject: string): PortError {
  if (error instanceof PortError) return error;
  if (error instanceof FileRefusal) return new PortError({ kind: error.kind, message: error.message, operation, subject });
  const message = goFileText(error) ?? (error instanceof Error ? error.message : String(error)).replaceAll(/\/proc\/self\/fd\/\d+\/?/g, '');
  return new PortError({ kind: kinds[errnoName(error)] ?? 'unknown', message, operation, subject, cause: error });
}

/** Runs one operation of a port. A cancelled call doesn't begin. */
export async function carryOut<T>(operation: string, subject: string, call: Call, work: () => T | Promise<T>): Promise<T> {
  if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject });
  try {
    return await work();
  } catch (error) {
    throw fileError(error, operation, subject);
  }
}

/**
 * Work on many files, possibly slow ones, in slices: other work runs between two pieces, and may change later files.
 * Stops between two pieces when the call is cancelled.
 */
export async function inSlices<T>(operation: string, subject: string, call: Call, items: readonly T[], work: (item: T) => void): Promise<void> {
  const share = new LoopShare();
  for (const item of items) {
    const wait = share.pause();
    if (wait !== null) {
      await wait;
      if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject });
    }
    work(item);
  }
}

/** Teardown runs every step: all are tried, then the first failure is thrown with the words of all. */
export function allSteps(steps: readonly (() => void)[]): void {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 0) return;
  const first = fileError(failures[0], '', '');
  const message = failures.map((failure) => goFileText(failure) ?? (failure instanceof Error ? failure.message : String(failure))).join('; ');
  throw new FileRefusal(first.kind, message);
}
