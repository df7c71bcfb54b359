// The kernel's error numbers as port errors: mapped here, once, for the addon and for the fallback.
import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';
import type { Call } from '../../ports/operation.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';

export const errno = constants.errno;

const kinds: ReadonlyMap<number, PortErrorKind> = new Map<number, PortErrorKind>([
  [errno.ENOENT, 'not-found'],
  [errno.ENOTDIR, 'not-found'],
  [errno.ENODEV, 'not-found'],
  [errno.ESRCH, 'not-found'],
  [errno.ENXIO, 'not-found'],
  [errno.EEXIST, 'already-exists'],
  [errno.EACCES, 'permission-denied'],
  [errno.EPERM, 'permission-denied'],
  [errno.EROFS, 'permission-denied'],
  [errno.EXDEV, 'permission-denied'],
  [errno.ELOOP, 'permission-denied'],
  [errno.EINVAL, 'invalid-argument'],
  [errno.ENAMETOOLONG, 'invalid-argument'],
  [errno.EISDIR, 'invalid-argument'],
  [errno.EMFILE, 'resource-exhausted'],
  [errno.ENFILE, 'resource-exhausted'],
  [errno.ENOSPC, 'resource-exhausted'],
  [errno.ENOMEM, 'resource-exhausted'],
  [errno.EAGAIN, 'resource-exhausted'],
  [errno.EBUSY, 'failed-precondition'],
  [errno.EBADF, 'failed-precondition'],
  [errno.ENOTEMPTY, 'failed-precondition'],
  [errno.ENOSYS, 'unimplemented'],
  [errno.EOPNOTSUPP, 'unimplemented'],
  [errno.ENOTCONN, 'unavailable'],
  [errno.ECONNREFUSED, 'unavailable'],
  [errno.ESTALE, 'unavailable'],
  [errno.EIO, 'unavailable'],
  [errno.EHOSTUNREACH, 'unavailable'],
  [errno.ETIMEDOUT, 'deadline-exceeded'],
  [errno.EINTR, 'aborted'],
]);

/** `status` is negative errno. */
export function errorKindOf(status: number): PortErrorKind {
  return kinds.get(-status) ?? 'unknown';
}

/** The error's name, by which users search manual pages. */
function nameOf(status: number): string {
  try {
    return getSystemErrorName(status);
  } catch {
    return `errno ${-status}`;
  }
}

/** A port error from a negative errno; its `cause` carries `errno` and `code` as Node's own errors do. */
export function portErrorOf(status: number, operation: string, subject: string): PortError {
  const code = nameOf(status);
  const cause = Object.assign(new Error(code), { errno: status, code });
  return new PortError({ kind: errorKindOf(status), message: `${operation} ${subject}: ${code}`, operation, subject, cause });
}

/** The same for an error thrown by Node. */
export function portErrorFrom(error: unknown, operation: string, subject: string): PortError {
  if (error instanceof PortError) return error;
  if (error instanceof Error && 'errno' in error && typeof error.errno === 'number') {
    return new PortError({ kind: errorKindOf(error.errno), message: `${operation} ${subject}: ${error.message}`, operation, subject, cause: error });
  }
  return new PortError({ kind: 'unknown', message: `${operation} ${subject}: ${String(error)}`, operation, subject, cause: error });
}

/** The value, or throws. */
export function checked(status: number, operation: string, subject: string): number {
  if (status < 0) throw portErrorOf(status, operation, subject);
  return status;
}

export function closedError(operation: string): PortError {
  return new PortError({ kind: 'failed-precondition', message: `${operation}: already closed`, operation, subject: '' });
}

/** A system call can't be interrupted from here: only calls that haven't begun are cancelled. */
export function mayStart(call: Call, operation: string, subject: string): void {
  if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: `${operation} ${subject}: cancelled`, operation, subject });
}
