// Resource claims: how long preparing and unpreparing a pod's claims takes, and the duration of driver calls.

import type { Micros } from '../../ports/micros.js';
import type { DraCall } from '../../ports/outbound/dra-plugin.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import type { DraTask } from '../dra-manager/dra-state.js';
import type { Reply } from '../kernel/machine.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';
import { grpcCodes } from './observed-volumes.js';

const service = '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin';

export class ObservedClaims implements ObservedPart {
  private readonly tasks = new Map<DraTask, Micros>();

  constructor(private readonly watched: Watched) {}

  answered(now: Micros, begun: Begun | null, reply: Reply<KubeletOperations>): void {
    if (begun === null || (reply.op !== 'draPlugin.prepare' && reply.op !== 'draPlugin.unprepare')) return;
    const { endpoint } = begun.command.request as DraCall;
    const plugin = this.watched.state.agent.plugins.draPlugins.find((one) => one.endpoint === endpoint);
    const code = reply.outcome.ok ? 'OK' : grpcCodes[reply.outcome.error.kind];
    const method = reply.op === 'draPlugin.prepare' ? 'NodePrepareResources' : 'NodeUnprepareResources';
    const labels = { driver_name: plugin?.name ?? '', grpc_status_code: code, method_name: `${service}/${method}` };
    this.watched.metrics.observe('dra_grpc_operations_duration_seconds', labels, secondsBetween(begun.at, now));
  }

  stepped(now: Micros): void {
    const { dra } = this.watched.state.agent;
    if (dra === null || (dra.tasks.size === 0 && this.tasks.size === 0)) return;
    for (const task of dra.tasks.values()) if (!this.tasks.has(task) && task.phase !== 'done') this.tasks.set(task, now);
    for (const [task, at] of this.tasks) {
      if (task.phase !== 'done') continue;
      this.tasks.delete(task);
      const labels = { is_error: String(task.error !== null), operation_name: task.kind === 'prepare' ? 'PrepareResources' : 'UnprepareResources' };
      this.watched.metrics.observe('dra_operations_duration_seconds', labels, secondsBetween(at, now));
    }
  }
}
