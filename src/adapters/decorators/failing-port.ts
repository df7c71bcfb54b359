// A port that always fails: what stands in for an adapter that can't be had, and what tests of degraded agents use.
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { ofOperations, type PortName } from './around.js';

export function failingPort<Name extends PortName>(name: Name, kind: PortErrorKind, message: string): OutboundPorts[Name] {
  return ofOperations(name, (operation) => async () => {
    throw new PortError({ kind, message, operation, subject: '' });
  });
}
