// Renews the node's lease.
import { leaseAddress, leaseOperations } from '../../lease/lease-keeper.js';
import { type AgentPart, repliesTo } from '../part.js';
import { beginLease, nodeLeaseReplied, nodeLeaseWoken } from './node-lease.js';

/** `apimachinery/lease` of `component-helpers`. */
export const nodeLease: AgentPart<'nodeLease'> = {
  name: 'nodeLease',
  start: beginLease,
  machines: {
    [leaseAddress.machine]: {
      replies: repliesTo(leaseOperations, (context, _key, answer) => nodeLeaseReplied(context, answer)),
      woken: nodeLeaseWoken,
    },
  },
};
