// Counts and times the operations of a port.
import type { Micros } from '../../ports/micros.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { type PortName, wrapped } from './around.js';

export interface OperationObservation {
  /** `port.operation`. */
  readonly operation: string;
  readonly durationMicros: Micros;
  /** null: it succeeded. */
  readonly error: PortErrorKind | null;
}

/** Receives observations; must not throw. */
export type OperationSink = (observation: OperationObservation) => void;

/** `clock` is monotonic; its zero does not matter. */
export function instrumented<Name extends PortName>(name: Name, port: OutboundPorts[Name], sink: OperationSink, clock: () => Micros = monotonic): OutboundPorts[Name] {
  return wrapped(name, port, async (operation, _request, call, next) => {
    const start = clock();
    let error: PortErrorKind | null = null;
    try {
      return await next(call);
    } catch (thrown) {
      error = thrown instanceof PortError ? thrown.kind : 'internal';
      throw thrown;
    } finally {
      sink({ operation, durationMicros: clock() - start, error });
    }
  });
}

function monotonic(): Micros {
  return Math.floor(performance.now() * 1_000);
}
