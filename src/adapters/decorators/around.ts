// Wraps a port: every operation of it goes through one function.
// Invariant: the wrapped port has exactly the operations of the original, with `this` of the original.
import type { Call } from '../../ports/operation.js';
import { operationNames } from '../../ports/outbound/operation-names.js';
import type { OutboundOperations, OutboundPorts } from '../../ports/outbound/outbound-ports.js';

export type PortName = keyof OutboundOperations;

/** Performs the operation itself. */
type Next = (call: Call) => Promise<unknown>;
/** `operation` is `port.operation`. */
export type Around = (operation: string, request: unknown, call: Call, next: Next) => Promise<unknown>;

type Methods = Record<string, (request: unknown, call: Call) => Promise<unknown>>;

export function wrapped<Name extends PortName>(name: Name, port: OutboundPorts[Name], around: Around): OutboundPorts[Name] {
  const original = port as unknown as Methods;
  return ofOperations(name, (operation, short) => async (request, call) => around(operation, request, call, async (inner) => original[short]?.call(port, request, inner)));
}

/** A port whose operations are made one by one. */
export function ofOperations<Name extends PortName>(
  name: Name,
  make: (operation: string, short: string) => (request: unknown, call: Call) => Promise<unknown>,
): OutboundPorts[Name] {
  const methods: Methods = {};
  for (const short of Object.keys(operationNames[name])) methods[short] = make(`${name}.${short}`, short);
  return methods as unknown as OutboundPorts[Name];
}
