// The node's numbers as a port of the agent's. They are opened when the agent begins, which needs its ports before.
import type { Call, PortOf } from '../../ports/operation.js';
import type { NodeStatsOperations, NodeStatsReading } from '../../ports/outbound/node-stats.js';
import { PortError } from '../../ports/port-error.js';

export class AgentNodeStats implements PortOf<NodeStatsOperations> {
  private reading: (() => Promise<NodeStatsReading>) | null = null;

  connect(reading: () => Promise<NodeStatsReading>): void {
    this.reading = reading;
  }

  async summary(_request: null, _call: Call): Promise<NodeStatsReading> {
    if (this.reading === null) throw new PortError({ kind: 'unavailable', operation: 'nodeStats.summary', subject: '', message: 'the node is not measured yet' });
    return this.reading();
  }
}
