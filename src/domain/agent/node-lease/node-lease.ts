// The node's lease in the API.
import { type LeaseReply, leaseReplied, leaseWanted, leaseWoken, renewLease } from '../../lease/lease-keeper.js';
import type { AgentContext } from '../agent-context.js';
import { ownNodeUid } from '../event-recorder/event-recording.js';
import type { NodeLeaseContext } from './slice.js';

export function beginLease(context: NodeLeaseContext): void {
  const { nodeLease } = context.state;
  if (nodeLease !== null) renewLease(nodeLease, ownNodeUid(context.state), context.turn);
}

/** The Node is registered. */
export function wantLease(context: AgentContext, nodeUid: string): void {
  const { nodeLease } = context.state;
  if (nodeLease !== null) leaseWanted(nodeLease, nodeUid, context.turn);
}

export function nodeLeaseReplied(context: NodeLeaseContext, reply: LeaseReply): void {
  const { nodeLease } = context.state;
  if (nodeLease !== null) leaseReplied(nodeLease, reply, context.turn);
}

export function nodeLeaseWoken(context: NodeLeaseContext): void {
  const { nodeLease } = context.state;
  if (nodeLease !== null) leaseWoken(nodeLease, ownNodeUid(context.state), context.turn);
}
