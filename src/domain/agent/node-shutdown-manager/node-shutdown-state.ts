// The shutdown manager as data, and the agent's state beside it.
import type { Micros } from '../../../ports/micros.js';
import { newShutdownManager, type ShutdownManager } from '../../node-shutdown/shutdown-manager.js';

export interface NodeShutdownState {
  manager: ShutdownManager;
  /** When it is woken next; null: nothing is planned. */
  plannedAt: Micros | null;
  /** The lock to take, or to release, once the previous request is answered; null: no change. */
  wantedLock: { readonly neededSeconds: number } | 'none' | null;
  /** The next record to write; null: it is being written, or on the disk. */
  unwritten: string | null;
}

export function newNodeShutdown(): NodeShutdownState {
  return { manager: newShutdownManager(), plannedAt: null, wantedLock: null, unwritten: null };
}
