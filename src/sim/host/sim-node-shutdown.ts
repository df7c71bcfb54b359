// The init of a simulated host, as far as shutdowns are concerned: whether a shutdown is in progress, the inhibitor lock, and the record of the last one.
import { unreachable } from '../../domain/kernel/assert.js';
import type { NodeShutdownOperations } from '../../ports/outbound/node-shutdown.js';
import { HostRefusal } from './refusal.js';

export interface SimShutdownState {
  /** There is an init that speaks of shutdowns. */
  isPresent: boolean;
  shuttingDown: boolean;
  isLocked: boolean;
  /** The longest delay that an inhibitor lock may request. */
  delaySecondsMax: number;
  record: string | null;
}

export type NodeShutdownRequest = {
  readonly [Name in keyof NodeShutdownOperations]: { readonly op: `nodeShutdown.${Name}`; readonly request: NodeShutdownOperations[Name]['request'] };
}[keyof NodeShutdownOperations];

export function newSimShutdown(): SimShutdownState {
  return { isPresent: true, shuttingDown: false, isLocked: false, delaySecondsMax: 3_600, record: null };
}

export function isNodeShutdownRequest(asked: { readonly op: string }): asked is NodeShutdownRequest {
  return asked.op.startsWith('nodeShutdown.');
}

export class SimNodeShutdown {
  constructor(private readonly state: { readonly shutdown: SimShutdownState }) {}

  answer(asked: NodeShutdownRequest): unknown {
    const { shutdown } = this.state;
    switch (asked.op) {
      case 'nodeShutdown.inhibit':
        return this.inhibit(asked.request.neededSeconds);
      case 'nodeShutdown.release':
        shutdown.isLocked = false;
        return null;
      case 'nodeShutdown.readRecord':
        return shutdown.record;
      case 'nodeShutdown.writeRecord':
        shutdown.record = asked.request.text;
        return null;
      default:
        return unreachable(asked);
    }
  }

  private inhibit(neededSeconds: number): NodeShutdownOperations['inhibit']['reply'] {
    const { shutdown } = this.state;
    if (!shutdown.isPresent) throw new HostRefusal('unavailable', 'dial unix /run/dbus/system_bus_socket: connect: no such file or directory');
    if (neededSeconds > shutdown.delaySecondsMax) throw new HostRefusal('failed-precondition', `init waits for ${shutdown.delaySecondsMax} s, and ${neededSeconds} s are needed`);
    // As in logind, no lock is granted during a shutdown.
    if (!shutdown.shuttingDown) shutdown.isLocked = true;
    return { shuttingDown: shutdown.shuttingDown };
  }
}
