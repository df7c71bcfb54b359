// Registers the node in the API and reports its status.
import { nodeAddress, reporterOperations } from '../../node-status/node-reporter.js';
import { type AgentPart, repliesTo } from '../part.js';
import { beginNodeStatus, nodeStatusReplied, nodeStatusWoken, planNodeStatus } from './node-status.js';

/** `pkg/kubelet/nodestatus` and `kubelet_node_status.go`. */
export const nodeStatus: AgentPart<'nodeStatus'> = {
  name: 'nodeStatus',
  start: beginNodeStatus,
  settle: planNodeStatus,
  machines: {
    [nodeAddress.machine]: {
      replies: repliesTo(reporterOperations, (context, _key, answer) => nodeStatusReplied(context, answer)),
      woken: nodeStatusWoken,
    },
  },
};
