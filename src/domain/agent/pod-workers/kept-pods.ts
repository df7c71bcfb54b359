// Records an event for a pod whose termination is blocked by a container, a volume, a claim or the cgroup: when a step fails, and when it is
// overdue.
//
// Invariant: an event comes at most `patience` after the deadline of the step (of a kill: the grace period); the recorder counts repetitions in one
// event.
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import { unreachable } from '../../kernel/assert.js';
import type { SyncRun, SyncStep } from '../../pod-sync/sync-run.js';
import { isPodTerminationRequested } from '../../pod-workers/queries.js';
import { goQuote } from '../../values/go-text.js';
import { microsPerSecond } from '../../values/time.js';
import { unmountProblems } from '../../volume-manager/release-volumes.js';
import type { PodWorkersContext } from './slice.js';

export const keptPodMachine = 'kept-pod';
/** With two steps in a row (the runtime status, the operation) the event comes within half a minute. */
const patience: Micros = 14 * microsPerSecond;
const repeatAfter: Micros = 300 * microsPerSecond;

/** A termination step begins. A pod that should run has no deadline. */
export function expectStep({ state, turn }: PodWorkersContext, uid: string, isKill: boolean): void {
  if (!isPodTerminationRequested(state.workers, uid)) return;
  const grace = isKill ? (state.workers.records.get(uid)?.gracePeriodSeconds ?? 0) : 0;
  turn.wakeAt({ machine: keptPodMachine, key: uid }, turn.now + grace * microsPerSecond + patience);
}

export function stepEnded({ turn }: PodWorkersContext, uid: string): void {
  turn.wakeAt({ machine: keptPodMachine, key: uid }, null);
}

/** A termination step failed and is retried. */
export function reportKept(context: PodWorkersContext, pod: Pod, why: string): void {
  context.event(pod, null, 'Warning', 'FailedKillPod', `error killing pod: ${why}`);
}

/** A termination step is overdue. */
export function reportOverdueStep(context: PodWorkersContext, uid: string): void {
  const { state, turn } = context;
  const record = state.workers.records.get(uid);
  if (record?.run == null || !isPodTerminationRequested(state.workers, uid)) return;
  const run = state.runs.get(uid);
  const pod = run?.pod ?? record.run.update.pod;
  if (pod === null) return;
  const step = run?.steps[0];
  if (run === undefined) reportKept(context, pod, 'the container runtime has not reported the status of the pod');
  else if (step !== undefined) reportKept(context, pod, waitedFor(context, run, step));
  turn.wakeAt({ machine: keptPodMachine, key: uid }, turn.now + repeatAfter);
}

function waitedFor({ state }: PodWorkersContext, { uid }: SyncRun, step: SyncStep): string {
  switch (step.kind) {
    case 'kill': {
      const { phase, items } = step.kill;
      if (phase !== 'containers') return 'the container runtime has not stopped the pod sandbox';
      const names = items.filter(({ kill }) => kill.phase !== 'done').map(({ kill }) => kill.containerName);
      return `the container runtime has not stopped the containers [${names.join(' ')}]`;
    }
    case 'verify':
      return 'the container runtime has not reported the status of the pod';
    case 'claims':
      return 'dynamic resources are not unprepared';
    case 'unmount': {
      const problems = unmountProblems(state.volumes, uid).map(({ name, err }) => (err === null ? goQuote(name) : `${goQuote(name)} (${err})`));
      return `volumes are not unmounted: [${problems.join(' ')}]`;
    }
    case 'destroyCgroup':
      return 'the pod cgroup is not removed';
    case 'cgroup':
    case 'directories':
    case 'volumes':
    case 'plan':
    case 'userNamespace':
    case 'imageVolumes':
    case 'remove':
    case 'sandbox':
    case 'start':
    case 'resize':
    case 'allocation':
      return `${step.kind} has not ended`;
    default:
      return unreachable(step);
  }
}
