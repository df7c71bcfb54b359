// Events about the node itself, as its status setters give rise to them.

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** All changes of the node's state are told in these words. */
export function nodeStatusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}
