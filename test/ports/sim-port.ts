// A port of the simulated host as the contract suites call it.

import type { Call } from '../../src/ports/operation.js';
import { PortError } from '../../src/ports/port-error.js';
import type { HostOperationName } from '../../src/sim/host/host-ports.js';
import type { SimHost } from '../../src/sim/host/sim-host.js';

/** The asynchronous face of a model. */
export function portOf<Port>(host: SimHost, port: string): Port {
  const operation = (name: string) => async (request: never, _call: Call) => {
    const { outcome } = host.handle(`${port}.${name}` as HostOperationName, request, 0);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  return new Proxy({}, { get: (_, name) => operation(String(name)) }) as Port;
}
