// Resizes of running pods: how long their actuation takes, from its first call to its result.

import type { Micros } from '../../ports/micros.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import type { Command } from '../kernel/machine.js';
import { resizeAction } from '../pod-sync/resize-step.js';
import { podMachine } from '../pod-sync/sync-context.js';
import type { SyncRun } from '../pod-sync/sync-run.js';
import type { ObservedPart, Watched } from './observed-part.js';

export class ObservedResizes implements ObservedPart {
  private readonly begunAt = new Map<SyncRun, Micros>();

  constructor(private readonly watched: Watched) {}

  begun(now: Micros, { address }: Command<KubeletOperations>): void {
    const run = address.machine === podMachine ? this.watched.state.agent.runs.get(address.key) : undefined;
    if (run !== undefined && run.steps[0]?.kind === 'resize' && !this.begunAt.has(run)) this.begunAt.set(run, now);
  }

  stepped(now: Micros): void {
    for (const [run, at] of this.begunAt) {
      const results = run.results.filter(({ action }) => action === resizeAction);
      // A cancelled run may end without a result.
      if (results.length === 0 && this.watched.state.agent.runs.get(run.uid) === run) continue;
      this.begunAt.delete(run);
      if (results.length === 0) continue;
      const success = String(results.every(({ error }) => error === null));
      this.watched.metrics.observe('kubelet_pod_resize_duration_milliseconds', { success }, Math.max(0, now - at) / 1e3);
    }
  }
}
