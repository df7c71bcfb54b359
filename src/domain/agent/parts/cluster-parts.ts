// Parts of a node's membership of a cluster: its Node, its lease, its events.
import { eventsAddress } from '../../events/event-recorder.js';
import { leaseAddress } from '../../lease/lease-keeper.js';
import { nodeAddress } from '../../node-status/node-reporter.js';
import { recorderReplied, recorderWoken } from '../event-recording.js';
import { beginLease, nodeLeaseReplied, nodeLeaseWoken } from '../node-lease.js';
import { beginNodeStatus, nodeStatusReplied, nodeStatusWoken, planNodeStatus } from '../node-status.js';
import { type AgentPart, repliesTo } from '../part.js';

/** `client-go/tools/events`: writes what the parts record. */
export const eventRecorder: AgentPart = {
  name: 'eventRecorder',
  machines: {
    [eventsAddress.machine]: { replies: repliesTo(['apiWriter.create', 'apiWriter.patch'], (context, _key, answer) => recorderReplied(context, answer)), woken: recorderWoken },
  },
};

/** `pkg/kubelet/nodestatus` and `kubelet_node_status.go`. */
export const nodeStatus: AgentPart = {
  name: 'nodeStatus',
  start: beginNodeStatus,
  settle: planNodeStatus,
  machines: {
    [nodeAddress.machine]: {
      replies: repliesTo(
        ['machine.read', 'machine.addresses', 'images.list', 'runtime.updateConfig', 'apiReader.get', 'apiWriter.create', 'apiWriter.patch'],
        (context, _key, answer) => nodeStatusReplied(context, answer),
      ),
      woken: nodeStatusWoken,
    },
  },
};

/** `pkg/kubelet/nodelease` of `component-helpers`. */
export const nodeLease: AgentPart = {
  name: 'nodeLease',
  start: beginLease,
  machines: {
    [leaseAddress.machine]: {
      replies: repliesTo(['apiReader.get', 'apiWriter.create', 'apiWriter.update'], (context, _key, answer) => nodeLeaseReplied(context, answer)),
      woken: nodeLeaseWoken,
    },
  },
};
