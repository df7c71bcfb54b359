// The state of the node's status in the API.
import type { NodeAddress } from '../../../ports/model/node.js';
import { type NodeReporter, newNodeReporter } from '../../node-status/node-reporter-state.js';
import type { NodeSettings } from '../../node-status/node-settings.js';

/** The facts that pods see of their node are those of the Node, which other components may have changed. */
export interface NodeOverlay {
  readonly nodeAddresses: readonly NodeAddress[];
  readonly allocatable: Readonly<Record<string, string>>;
}

export interface NodeStatusState {
  readonly reporter: NodeReporter;
  /** null: the Node is not known yet. */
  overlay: NodeOverlay | null;
}

export function newNodeStatus(settings: NodeSettings): NodeStatusState {
  return { reporter: newNodeReporter(settings), overlay: null };
}
