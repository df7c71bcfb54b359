// Performs the decisions of the shutdown manager (`node-shutdown/shutdown-manager.ts`): takes the lock, ends pods, keeps the record.
// Its conditions are checked after each step instead of by notifications: that a pod has stopped and its volumes are unmounted.
import type { Instant } from '../../../ports/instant.js';
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { parseShutdownState, writeShutdownState } from '../../checkpoints/small-state-files.js';
import { unreachable } from '../../kernel/assert.js';
import { shutdownStatus } from '../../node-shutdown/shutdown-groups.js';
import { advanceManager, type ShutdownAction, type ShutdownDecision, type ShutdownEvent, shutdownReason, stepShutdown } from '../../node-shutdown/shutdown-manager.js';
import { couldHaveRunningContainers } from '../../pod-workers/queries.js';
import { formatRfc3339Micros } from '../../values/time.js';
import type { AnswerOf } from '../part.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { workedOnPods } from '../pod-workers/active-pods.js';
import { expectEnd } from '../pod-workers/overdue-kills.js';
import { dispatchUpdate } from '../pod-workers/worker-effects.js';
import type { NodeShutdownManagerContext } from './slice.js';

export const nodeShutdownAddress = { machine: 'node-shutdown', key: '' } as const;
/** Several calls to init, each of which may take 25 s. */
const inhibitTimeout: Micros = 120_000_000;

export function beginNodeShutdown(context: NodeShutdownManagerContext): void {
  happen(context, { type: 'begun' });
}

export function shutdownSignalled(context: NodeShutdownManagerContext, active: boolean): void {
  happen(context, { type: 'signal', active, pods: workedOnPods(context.state) });
}

export function shutdownSignalsLost(context: NodeShutdownManagerContext): void {
  happen(context, { type: 'lost' });
}

export function nodeShutdownWoken(context: NodeShutdownManagerContext): void {
  context.state.shutdown.plannedAt = null;
  happen(context, { type: 'woken' });
}

export function inhibitReplied(context: NodeShutdownManagerContext, { outcome }: AnswerOf<'nodeShutdown.inhibit'>): void {
  askNext(context);
  if (!outcome.ok) happen(context, { type: 'refused', message: outcome.error.message });
  else happen(context, { type: 'inhibited', shuttingDown: outcome.value.shuttingDown, pods: workedOnPods(context.state) });
}

export function recordRead(context: NodeShutdownManagerContext, answer: AnswerOf<'nodeShutdown.readRecord'>): void {
  shutdownStepReplied(context, answer);
  const { outcome } = answer;
  const read = outcome.ok && outcome.value !== null ? parseShutdownState(outcome.value) : null;
  if (read === null) return;
  if (read.ok) happen(context, { type: 'remembered', ...read.value });
  else context.turn.log('error', 'Failed to read the record of the last shutdown', { err: read.error });
}

export function shutdownStepReplied(
  context: NodeShutdownManagerContext,
  { op, outcome }: AnswerOf<'nodeShutdown.readRecord' | 'nodeShutdown.release' | 'nodeShutdown.writeRecord'>,
): void {
  askNext(context);
  if (!outcome.ok) context.turn.log('error', 'A step of the shutdown of the node failed', { what: op, err: outcome.error.message });
}

/** Continues the shutdown in progress, and plans the next wake-up. */
export function planNodeShutdown(context: NodeShutdownManagerContext): void {
  const { state, turn } = context;
  const { shutdown } = state;
  if (shutdown.manager.run === null && (shutdown.manager.retryAt === null || shutdown.manager.retryAt === shutdown.plannedAt)) return;
  let decision = advance(context);
  // A pod that has nothing to stop is gone at once, and the next group has its turn.
  while (decision.actions.some(({ kind }) => kind === 'kill')) decision = advance(context);
  if (decision.wakeAt === null || decision.wakeAt === shutdown.plannedAt) return;
  shutdown.plannedAt = decision.wakeAt;
  turn.wakeAt(nodeShutdownAddress, Math.max(decision.wakeAt, turn.now));
}

function advance(context: NodeShutdownManagerContext): ReturnType<typeof advanceManager> {
  const decision = advanceManager(context.state.shutdown.manager, (pod) => isGone(context, pod), context.turn);
  decided(context, decision);
  return decision;
}

function happen(context: NodeShutdownManagerContext, event: ShutdownEvent): void {
  const { state, turn } = context;
  decided(context, stepShutdown(state.shutdown.manager, event, state.settings.shutdownPriorities, turn));
}

function decided(context: NodeShutdownManagerContext, { manager, actions }: ShutdownDecision): void {
  context.state.shutdown.manager = manager;
  for (const action of actions) act(context, action);
}

function act(context: NodeShutdownManagerContext, action: ShutdownAction): void {
  const { state, turn } = context;
  const { shutdown } = state;
  switch (action.kind) {
    case 'read-record':
      turn.ask('nodeShutdown.readRecord', nodeShutdownAddress, 'read', null);
      return;
    case 'inhibit':
      shutdown.wantedLock = { neededSeconds: action.neededSeconds };
      askNext(context);
      return;
    case 'release':
      turn.log('info', 'Shutdown manager completed processing shutdown event, node will shutdown shortly');
      shutdown.wantedLock = 'none';
      askNext(context);
      return;
    case 'write-record':
      shutdown.unwritten = writeShutdownState(timeText(action.startedAt), action.endedAt === null ? '' : timeText(action.endedAt));
      askNext(context);
      return;
    case 'node-event':
      context.nodeEvent('Normal', shutdownReason, action.message);
      return;
    case 'log':
      turn.log('error', action.message, { err: action.err });
      return;
    case 'kill':
      kill(context, action.pod, action.gracePeriodSeconds);
      return;
    default:
      unreachable(action);
  }
}

/** The last request counts: it is sent when the previous one has been answered. */
function askNext({ state: { shutdown }, turn }: NodeShutdownManagerContext): void {
  const { wantedLock, unwritten } = shutdown;
  if (wantedLock !== null && !turn.inFlight(nodeShutdownAddress, 'lock')) {
    shutdown.wantedLock = null;
    if (wantedLock === 'none') turn.ask('nodeShutdown.release', nodeShutdownAddress, 'lock', null);
    else turn.ask('nodeShutdown.inhibit', nodeShutdownAddress, 'lock', wantedLock, inhibitTimeout);
  }
  if (unwritten !== null && !turn.inFlight(nodeShutdownAddress, 'record')) {
    shutdown.unwritten = null;
    turn.ask('nodeShutdown.writeRecord', nodeShutdownAddress, 'record', { text: unwritten });
  }
}

function kill(context: NodeShutdownManagerContext, pod: Pod, gracePeriodSeconds: number): void {
  const { state, turn } = context;
  turn.log('info', 'Shutdown manager killing pod with gracePeriod', { podUID: uidOf(pod), gracePeriod: gracePeriodSeconds });
  const { reason = '', message = '', condition } = shutdownStatus(state.statuses.get(uidOf(pod))?.status.phase);
  const statusChange = { reason, message, disruptionReason: condition.reason ?? null, disruptionMessage: condition.message ?? null, keepsSuccess: true };
  const killOptions = { evict: false, gracePeriodOverride: gracePeriodSeconds, statusChange, completion: null };
  dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions, startTime: turn.now });
  expectEnd(context, pod, gracePeriodSeconds);
}

function isGone({ state }: NodeShutdownManagerContext, pod: Pod): boolean {
  const uid = uidOf(pod);
  return !couldHaveRunningContainers(state.workers, uid) && (state.volumes.held.get(uid)?.size ?? 0) === 0;
}

/** In Go's form: no more digits of a second than needed. */
function timeText(at: Instant): string {
  return formatRfc3339Micros(at).replace(/\.?0+Z$/, 'Z');
}
