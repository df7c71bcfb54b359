// Polls the runtime's status, every five seconds; its name and version once.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Reply } from '../kernel/machine.js';
import type { AgentContext } from './agent-context.js';
import { runtimeHandlersSaid } from './runtime-facts.js';
import { statusPollInterval, statusReported } from './runtime-readiness.js';
import { syncPods } from './sync-loop.js';

export const runtimeAddress = { machine: 'runtime', key: '' } as const;

export function pollStatus(context: AgentContext): void {
  const { turn, state } = context;
  if (turn.inFlight(runtimeAddress, 'status')) return;
  if (state.readiness.name === '' && !turn.inFlight(runtimeAddress, 'version')) turn.ask('runtime.version', runtimeAddress, 'version', null, state.settings.runtimeRequestTimeout);
  turn.ask('runtime.status', runtimeAddress, 'status', null, state.settings.runtimeRequestTimeout);
}

export function runtimeReplied(context: AgentContext, reply: Reply<AgentOperations>): void {
  const { state, turn } = context;
  if (reply.op === 'runtime.version') {
    if (reply.outcome.ok) {
      state.readiness.name = reply.outcome.value.runtimeName;
      state.readiness.version = reply.outcome.value.runtimeVersion;
      syncPods(context, state.pods.pods.keys());
    } else turn.log('error', 'Container runtime version failed', { err: reply.outcome.error.message });
    return;
  }
  if (reply.op === 'runtime.updateConfig') {
    if (reply.outcome.ok) state.readiness.podCidr = state.settings.podCidr;
    else turn.log('error', 'Pod CIDR update failed', { err: reply.outcome.error.message });
    return;
  }
  if (reply.op !== 'runtime.status') return;
  turn.wakeAt(runtimeAddress, turn.now + statusPollInterval);
  if (!reply.outcome.ok) {
    // The last good answer only grows old.
    turn.log('error', 'Container runtime sanity check failed', { err: reply.outcome.error.message });
    return;
  }
  const becameReady = statusReported(state.readiness, reply.outcome.value, turn.now);
  runtimeHandlersSaid(context);
  updatePodCidr(context);
  if (becameReady) turn.log('info', 'Container runtime is ready', { runtime: state.readiness.name });
  if (state.readiness.runtimeProblem !== null) turn.log('error', state.readiness.runtimeProblem);
}

/** In a cluster the API provides the pod CIDR; otherwise the configuration. A failure is retried with the next poll. */
function updatePodCidr({ turn, state }: AgentContext): void {
  const { podCidr, runtimeRequestTimeout } = state.settings;
  if (state.api !== null || podCidr === state.readiness.podCidr || turn.inFlight(runtimeAddress, 'cidr')) return;
  turn.ask('runtime.updateConfig', runtimeAddress, 'cidr', { podCidr }, runtimeRequestTimeout);
}
