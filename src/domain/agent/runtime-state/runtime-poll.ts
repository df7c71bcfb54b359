// Polls the runtime's status, every five seconds; its name and version once.

import type { AnswerOf } from '../part.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import { runtimeHandlersChanged } from './runtime-facts.js';
import { statusPollInterval, statusReported } from './runtime-readiness.js';
import type { RuntimeStateContext } from './slice.js';

export const runtimeAddress = { machine: 'runtime', key: '' } as const;

export function pollStatus(context: RuntimeStateContext): void {
  const { turn, state } = context;
  if (turn.inFlight(runtimeAddress, 'status')) return;
  if (state.readiness.name === '' && !turn.inFlight(runtimeAddress, 'version')) turn.ask('runtime.version', runtimeAddress, 'version', null, state.settings.runtimeRequestTimeout);
  turn.ask('runtime.status', runtimeAddress, 'status', null, state.settings.runtimeRequestTimeout);
}

export function versionReplied(context: RuntimeStateContext, { outcome }: AnswerOf<'runtime.version'>): void {
  const { state, turn } = context;
  if (!outcome.ok) {
    turn.log('error', 'Container runtime version failed', { err: outcome.error.message });
    return;
  }
  state.readiness.name = outcome.value.runtimeName;
  state.readiness.version = outcome.value.runtimeVersion;
  syncPods(context, state.pods.pods.keys());
}

export function podCidrReplied({ state, turn }: RuntimeStateContext, { outcome }: AnswerOf<'runtime.updateConfig'>): void {
  if (outcome.ok) state.readiness.podCidr = state.settings.podCidr;
  else turn.log('error', 'Pod CIDR update failed', { err: outcome.error.message });
}

export function statusReplied(context: RuntimeStateContext, { outcome }: AnswerOf<'runtime.status'>): void {
  const { state, turn } = context;
  turn.wakeAt(runtimeAddress, turn.now + statusPollInterval);
  if (!outcome.ok) {
    // The last good answer only grows old.
    turn.log('error', 'Container runtime sanity check failed', { err: outcome.error.message });
    return;
  }
  const becameReady = statusReported(state.readiness, outcome.value, turn.now);
  runtimeHandlersChanged(context);
  updatePodCidr(context);
  if (becameReady) turn.log('info', 'Container runtime is ready', { runtime: state.readiness.name });
  if (state.readiness.runtimeProblem !== null) turn.log('error', state.readiness.runtimeProblem);
}

/** In a cluster the API provides the pod CIDR; otherwise the configuration. A failure is retried with the next poll. */
function updatePodCidr({ turn, state }: RuntimeStateContext): void {
  const { podCidr, runtimeRequestTimeout } = state.settings;
  if (state.api !== null || podCidr === state.readiness.podCidr || turn.inFlight(runtimeAddress, 'cidr')) return;
  turn.ask('runtime.updateConfig', runtimeAddress, 'cidr', { podCidr }, runtimeRequestTimeout);
}
