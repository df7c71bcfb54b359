// The state of the rounds that remove dead containers and sandboxes.
import type { PressedRound } from '../image-gc/image-collection-state.js';

export type CollectedItem =
  | { readonly kind: 'container'; readonly id: string; readonly podUid: string; readonly stopFirst: boolean }
  | { readonly kind: 'sandbox'; readonly id: string };

export interface CollectionState {
  /** The state of a round that the eviction loop requested, which also removes containers of terminated pods. */
  pressed: PressedRound;
  phase: 'idle' | 'listContainers' | 'removeContainers' | 'listSandboxes' | 'removeSandboxes' | 'logs';
  outstanding: number;
  /** Containers and sandboxes that are to go and wait for their turn. */
  readonly waiting: CollectedItem[];
  /** A round has its time. */
  planned: boolean;
  dirty: boolean;
}

export function newCollection(): CollectionState {
  return { pressed: 'none', phase: 'idle', outstanding: 0, waiting: [], planned: false, dirty: false };
}
