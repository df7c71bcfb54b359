// A port whose named operations run once at a time for each request: a call that finds the same one in progress, since an earlier caller has given up on it,
// waits for that one's result. So retries of a call that hangs in the kernel don't occupy one thread each.
// Invariant: a caller's signal ends its own wait alone, except for the caller that began the work.
import type { Call } from '../../ports/operation.js';
import type { OutboundOperations, OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { PortError } from '../../ports/port-error.js';
import { type PortName, wrapped } from './around.js';

export function joining<Name extends PortName>(name: Name, port: OutboundPorts[Name], operations: readonly (keyof OutboundOperations[Name] & string)[]): OutboundPorts[Name] {
  const joined = new Set(operations.map((operation) => `${name}.${operation}`));
  const running = new Map<string, Promise<unknown>>();
  return wrapped(name, port, (operation, request, call, next) => {
    if (!joined.has(operation)) return next(call);
    const key = `${operation} ${JSON.stringify(request)}`;
    const before = running.get(key);
    if (before !== undefined) return unlessAborted(before, operation, call);
    const work = next(call).finally(() => running.delete(key));
    running.set(key, work);
    return work;
  });
}

function unlessAborted(work: Promise<unknown>, operation: string, { signal }: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject: '' }));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
