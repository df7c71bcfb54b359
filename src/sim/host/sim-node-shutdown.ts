// The init of a simulated host, as far as shutdowns are concerned: whether a shutdown is in progress, the inhibitor lock, and the record of the last one.
import type { NodeShutdownOperations } from '../../ports/outbound/node-shutdown.js';
import type { ModelOf } from './host-ports.js';
import { HostRefusal } from './refusal.js';

export interface SimShutdownState {
  /** Whether init supports inhibitor locks. */
  isPresent: boolean;
  shuttingDown: boolean;
  isLocked: boolean;
  /** The longest delay that an inhibitor lock may request. */
  delaySecondsMax: number;
  record: string | null;
}

export function newSimShutdown(): SimShutdownState {
  return { isPresent: true, shuttingDown: false, isLocked: false, delaySecondsMax: 3_600, record: null };
}

export class SimNodeShutdown implements ModelOf<NodeShutdownOperations> {
  constructor(private readonly state: { readonly shutdown: SimShutdownState }) {}

  release(): null {
    this.state.shutdown.isLocked = false;
    return null;
  }

  readRecord(): string | null {
    return this.state.shutdown.record;
  }

  writeRecord({ text }: NodeShutdownOperations['writeRecord']['request']): null {
    this.state.shutdown.record = text;
    return null;
  }

  inhibit({ neededSeconds }: NodeShutdownOperations['inhibit']['request']): NodeShutdownOperations['inhibit']['reply'] {
    const { shutdown } = this.state;
    if (!shutdown.isPresent) throw new HostRefusal('unavailable', 'dial unix /run/dbus/system_bus_socket: connect: no such file or directory');
    if (neededSeconds > shutdown.delaySecondsMax) throw new HostRefusal('failed-precondition', `init waits for ${shutdown.delaySecondsMax} s, and ${neededSeconds} s are needed`);
    // As in logind, no lock is granted during a shutdown.
    if (!shutdown.shuttingDown) shutdown.isLocked = true;
    return { shuttingDown: shutdown.shuttingDown };
  }
}
