// The ports that a simulated host answers: all that an agent asks of its node besides the runtime, and the models that answer them.
import type { Micros } from '../../ports/micros.js';
import type { Flattened } from '../../ports/operation.js';
import type { OutboundOperations } from '../../ports/outbound/outbound-ports.js';

export type HostPorts = Omit<OutboundOperations, 'runtime' | 'sandboxes' | 'containers' | 'images' | 'probing' | 'apiReader' | 'apiWriter'>;
export type HostOperations = Flattened<HostPorts>;
export type HostOperationName = keyof HostOperations;

/** The synchronous face of a port, which models implement. Refusals are thrown as `HostRefusal`. */
export type ModelOf<Operations> = {
  readonly [Name in keyof Operations]: Operations[Name] extends { readonly request: infer Request; readonly reply: infer Reply } ? (request: Request, now: Micros) => Reply : never;
};

export type HostModels = { readonly [Port in keyof HostPorts]: ModelOf<HostPorts[Port]> };
