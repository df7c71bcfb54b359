// A port that always fails: replaces an unavailable adapter, and serves tests of degraded agents.
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { ofOperations, type PortName } from './around.js';

export function failingPort<Name extends PortName>(name: Name, kind: PortErrorKind, message: string): OutboundPorts[Name] {
  return ofOperations(name, (operation) => async () => {
    throw new PortError({ kind, message, operation, subject: '' });
  });
}
