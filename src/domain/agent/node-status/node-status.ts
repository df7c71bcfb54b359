// The agent's Node in the API: what it reports, and what the agent takes from it.
import type { Node } from '../../../ports/model/node.js';
import { canonicalJson } from '../../kernel/canonical.js';
import type { Turn } from '../../kernel/machine.js';
import { lookAtReadiness, type NodeContext, type NodeOperations, type ReporterReply, reporterReplied, reporterWoken, startReporter } from '../../node-status/node-reporter.js';
import { derived } from '../../values/derived.js';
import type { AgentContext } from '../agent-context.js';
import { recordNodeEvent } from '../event-recorder/event-recording.js';
import { takeNodeFacts } from '../node-facts/node-facts.js';
import { wantLease } from '../node-lease/node-lease.js';
import { ownNode, watchedNode } from '../reflectors/api-state.js';
import type { NodeOverlay, NodeStatusState } from './node-status-state.js';
import { nodeView } from './node-view.js';
import { asNodeStatus, type NodeStatusContext } from './slice.js';

export function beginNodeStatus(context: NodeStatusContext): void {
  const { nodeStatus } = context.state;
  if (nodeStatus === null) return;
  recordNodeEvent(context, { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
  startReporter(nodeStatus.reporter, reporterContext(context));
}

export function nodeStatusReplied(context: NodeStatusContext, reply: ReporterReply): void {
  const { nodeStatus } = context.state;
  if (nodeStatus !== null) reporterReplied(nodeStatus.reporter, reply, reporterContext(context));
}

export function nodeStatusWoken(context: NodeStatusContext): void {
  const { nodeStatus } = context.state;
  if (nodeStatus !== null) reporterWoken(nodeStatus.reporter, reporterContext(context));
}

/** Last in a step: a report is never older than the agent's state. */
export function planNodeStatus(context: NodeStatusContext): void {
  const { nodeStatus } = context.state;
  if (nodeStatus !== null) lookAtReadiness(nodeStatus.reporter, reporterContext(context));
}

/** An existing Node's addresses count from the start: otherwise pods reported before the first node status would have different ones. */
export function nodeStatusNodeChanged(caller: AgentContext): void {
  const context = asNodeStatus(caller);
  const { nodeStatus, api } = context.state;
  if (nodeStatus === null || nodeStatus.overlay !== null) return;
  const node = ownNode(api);
  if (node !== null && (node.status?.addresses ?? []).length > 0) takeOverlay(context, nodeStatus, node);
}

const reporterContext = derived((context: NodeStatusContext): NodeContext => new ReporterContext(context));

class ReporterContext implements NodeContext {
  constructor(private readonly agent: NodeStatusContext) {}

  get turn(): Turn<NodeOperations> {
    return this.agent.turn;
  }

  get shuttingDown(): boolean {
    return this.agent.state.shutdown.manager.shuttingDown;
  }

  view(): ReturnType<NodeContext['view']> {
    return nodeView(this.agent.state, this.agent.turn.now);
  }

  watched(): ReturnType<NodeContext['watched']> {
    return watchedNode(this.agent.state.api);
  }

  event(event: Parameters<NodeContext['event']>[0]): void {
    recordNodeEvent(this.agent, event);
  }

  known(node: Node): void {
    const uid = node.metadata.uid ?? '';
    if (uid !== '') wantLease(this.agent, uid);
    const { nodeStatus } = this.agent.state;
    if (nodeStatus !== null) takeOverlay(this.agent, nodeStatus, node);
  }

  /** The next look at the node expects it again, if these are replaced until then. */
  expected(node: Node): void {
    const { nodeStatus, nodeFacts } = this.agent.state;
    if (nodeStatus === null || nodeStatus.overlay !== null) return;
    const now: NodeOverlay = { nodeAddresses: nodeFacts.nodeAddresses ?? [], allocatable: nodeFacts.allocatable as NodeOverlay['allocatable'] };
    const expected = overlayOf(now, node);
    if (expected !== now) takeNodeFacts(this.agent, { ...nodeFacts, ...expected });
  }
}

function takeOverlay(context: NodeStatusContext, nodeStatus: NodeStatusState, node: Node): void {
  const overlay = overlayOf(nodeStatus.overlay, node);
  if (overlay === nodeStatus.overlay) return;
  nodeStatus.overlay = overlay;
  takeNodeFacts(context, context.state.nodeFacts);
}

/** The overlay from this Node; the same object if unchanged. */
function overlayOf(overlay: NodeOverlay | null, { status = {} }: Node): NodeOverlay {
  const fresh = { nodeAddresses: status.addresses ?? [], allocatable: status.allocatable ?? {} };
  return overlay !== null && canonicalJson(overlay) === canonicalJson(fresh) ? overlay : fresh;
}
