// Connection errors in the words of Go's network library: users search for them.

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EINVAL: 'connect: invalid argument',
};

/** @param address host and port as in a URL */
export function connectionErrorText(error: unknown, address: string): string {
  const { code = '', message } = firstOf(error);
  const reason = reasons[code];
  if (reason !== undefined) return `dial tcp ${address}: ${reason}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${address.replace(/:[0-9]+$/, '')}: no such host`;
  if (code === 'ECONNRESET') return message === 'socket hang up' ? 'EOF' : 'read: connection reset by peer';
  if (code === 'EPIPE') return 'write: broken pipe';
  return message;
}

export function dialTimeoutText(address: string): string {
  return `dial tcp ${address}: i/o timeout`;
}

/** A name with several addresses fails with one error each. */
function firstOf(error: unknown): { readonly code?: string; readonly message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return firstOf(error.errors[0]);
  return error instanceof Error ? error : { message: String(error) };
}
