// The shutdown manager as data, and what the agent remembers beside it.
import type { Micros } from '../../ports/micros.js';
import { newShutdownManager, type ShutdownManager } from '../node-shutdown/shutdown-manager.js';

export interface NodeShutdownState {
  manager: ShutdownManager;
  /** When it is woken next; null: nothing is planned. */
  plannedAt: Micros | null;
  /** The lock is to be taken, or to go, once what was asked before is answered; null: it is as it is to be. */
  wantedLock: { readonly neededSeconds: number } | 'none' | null;
  /** The record as it is to be written next; null: it is on its way, or on the disk. */
  unwritten: string | null;
}

export function newNodeShutdown(): NodeShutdownState {
  return { manager: newShutdownManager(), plannedAt: null, wantedLock: null, unwritten: null };
}
