// Whether the sync loop still gets anywhere, for the health check `syncloop` and for the service manager's watchdog. While the runtime
// can't be worked with nothing is dispatched, and after some minutes of that the daemon no longer counts as alive.

import type { HealthCheck } from '../../ports/inbound/agent-queries.js';
import type { Micros } from '../../ports/micros.js';
import type { AgentState } from '../agent/agent-state.js';
import { runtimeProblems } from '../agent/runtime-state/runtime-readiness.js';
import { plegProblem } from '../pleg/pleg.js';

const patience: Micros = 300_000_000;

export class LoopHealth {
  /** When the loop was last seen able to dispatch. */
  private openAt: Micros | null = null;

  constructor(
    private readonly state: AgentState,
    private readonly now: () => Micros,
  ) {}

  /** Whether pods are synced at this moment; null when they are, else why not. */
  problem(): string | null {
    const now = this.now();
    return runtimeProblems(this.state.readiness, plegProblem(this.state.pleg, now), now);
  }

  syncloop(): HealthCheck {
    const now = this.now();
    if (this.openAt === null || this.problem() === null) this.openAt = now;
    const late = now - this.openAt > Math.max(2 * this.state.settings.syncFrequency, patience);
    return { name: 'syncloop', failure: late ? 'sync Loop took longer than expected' : null };
  }
}
