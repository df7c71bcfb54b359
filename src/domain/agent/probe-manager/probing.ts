// Running probe workers: sends due probes, and passes results to the status of the pod and to its worker.
import type { ProbeAnswer } from '../../probes/ask-probe.js';
import { askProbe, probeOutcomeOf } from '../../probes/ask-probe.js';
import type { RegisteredWorker } from '../../probes/probe-registry.js';
import { type ProbeChange, type ProbeStep, type ProbeWorker, probeAnswered, probeDue } from '../../probes/probe-worker.js';
import { setProbed } from '../status-manager/pod-statuses.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import { forgetWorker, planProbe, probeAddress, probedStatus, probesChanged, startOf } from './probe-workers.js';
import { takenOver } from './reported-readiness.js';
import type { ProbeManagerContext } from './slice.js';

export function probeWoken(context: ProbeManagerContext, key: string): void {
  const found = workerOf(context, key);
  if (found === null || found.registered.worker.state !== 'idle') return;
  const { worker } = found.registered;
  const before = worker.containerId;
  const step = probeDue(worker, probedStatus(context, found.uid), context.turn.now, startOf(context, found.uid), takenOver(context));
  if (before !== null && before !== worker.containerId) context.state.probes.results[worker.kind].delete(before);
  take(context, found, step);
}

/** Drops answers for workers that have ended. */
export function probeReplied(context: ProbeManagerContext, key: string, reply: ProbeAnswer): void {
  const found = workerOf(context, key);
  if (found === null || found.registered.slot !== reply.slot) return;
  const { worker } = found.registered;
  take(context, found, probeAnswered(worker, probeOutcomeOf(worker, reply)));
}

interface FoundWorker {
  readonly uid: string;
  readonly name: string;
  readonly registered: RegisteredWorker;
}

function workerOf({ state }: ProbeManagerContext, key: string): FoundWorker | null {
  const [kind = '', container = '', ...rest] = key.split('/');
  const uid = rest.join('/');
  const name = `${kind}/${container}`;
  const registered = state.probes.pods.get(uid)?.workers.get(name);
  return registered === undefined ? null : { uid, name, registered };
}

function take(context: ProbeManagerContext, found: FoundWorker, first: ProbeStep): void {
  const { uid, name, registered } = found;
  const { worker, slot } = registered;
  const changes: ProbeChange[] = [];
  let step: ProbeStep | null = first;
  // A probe without a possible request has its outcome at once, and a few attempts like any other.
  while (step !== null) {
    changes.push(...step.published);
    if (step.event !== null) context.event(worker.pod, worker.container.name, 'Warning', step.event.reason, step.event.message);
    if (step.next !== 'probe') break;
    const podIp = probedStatus(context, uid)?.podIP ?? '';
    const { runtimeRequestTimeout } = context.state.settings;
    const outcome = askProbe(worker, { turn: context.turn, address: probeAddress(uid, name), slot, podIp, runtimeRequestTimeout });
    step = outcome === null ? null : probeAnswered(worker, outcome);
  }
  keepResults(context, worker, changes);
  if (step?.next === 'end') forgetWorker(context, uid, name, registered);
  else planProbe(context, uid, name, worker);
  if (changes.length > 0) publishProbeResult(context, uid, worker, changes);
}

function keepResults({ state }: ProbeManagerContext, worker: ProbeWorker, changes: readonly ProbeChange[]): void {
  const results = state.probes.results[worker.kind];
  for (const { containerId, result } of changes) results.set(containerId, result);
}

function publishProbeResult(context: ProbeManagerContext, uid: string, worker: ProbeWorker, changes: readonly ProbeChange[]): void {
  const last = changes.at(-1);
  if (last === undefined) return;
  probesChanged(context, uid);
  if (worker.kind === 'liveness') {
    if (last.result === 'failure') syncPods(context, [uid]);
    return;
  }
  // The pod's worker may be busy for long, with a hook or a kill; readiness must be reported now.
  setProbed(context, context.state.pods.pods.get(uid) ?? worker.pod, worker.kind, worker.container.name, last.result === 'success');
  syncPods(context, [uid]);
}
