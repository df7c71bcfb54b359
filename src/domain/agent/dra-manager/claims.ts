// Resource claims as a part of the agent: requests of pods' runs, resuming them when done, and claims of removed pods.
//
// Invariant: claims of a pod are unprepared only after its containers are dead: by the end of its run, or once no source, worker or
// runtime has the pod.
import type { Pod } from '../../../ports/model/pod.js';
import { cdiDevicesOf } from '../../dra-manager/container-devices.js';
import { claimsKeptFor, type DraContext, type DraManager, type DraTask } from '../../dra-manager/dra-state.js';
import { beginPrepare, beginUnprepare } from '../../dra-manager/dra-tasks.js';
import { draEndpoint } from '../../plugins/dra-plugins.js';
import type { ClaimProgress, ClaimsOfPods, SyncContext } from '../../pod-sync/sync-context.js';
import type { KnownPod } from '../../pod-workers/known-pods.js';
import type { AgentView } from '../agent-view.js';
import { requestPassBy } from '../housekeeping/requests.js';
import { isActive } from '../pod-workers/active-pods.js';
import { queueStatusWrite } from '../status-manager/status-writes.js';
import { requestSyncs, resumeRuns } from '../sync-loop/requests.js';
import { draManagerState } from './slice.js';

/** Resumes pods whose claims are done, or whose driver has registered. */
export const claimsAddress = { machine: 'claims', key: '' } as const;
/** The retry period for claims that could not be unprepared. */
const reconcilePeriod = 60_000_000;

export interface ClaimHost {
  readonly state: AgentView;
  readonly turn: SyncContext['turn'];
}

export function draContext({ state, turn }: ClaimHost): DraContext {
  return {
    turn,
    hasApi: state.api !== null,
    driverEndpoint: (driver) => draEndpoint(state.plugins, driver),
    taskEnded: (task) => taskEnded({ state, turn }, task),
  };
}

/** null: this node has no claims. */
export function claimsOfPods(host: ClaimHost): ClaimsOfPods | null {
  const { dra } = draManagerState(host.state);
  if (dra === null) return null;
  return {
    prepare: (pod) => begin(dra, pod.metadata.uid ?? '', () => beginPrepare(dra, pod, draContext(host))),
    unprepare: (uid) => {
      dra.failedPods.delete(uid);
      return begin(dra, uid, () => (claimsKeptFor(dra, uid).length > 0 ? beginUnprepare(dra, uid, draContext(host)) : undefined));
    },
    progress: (uid) => progress(dra, uid),
    cdiDevices: (pod, container) => cdiDevicesOf(dra, pod, container),
    leave: (uid) => {
      if (dra.tasks.get(uid)?.phase === 'done') dra.tasks.delete(uid);
    },
  };
}

/** False: work on the pod's claims is in progress already; its end is reported. */
function begin({ tasks }: DraManager, uid: string, first: () => void): boolean {
  const task = tasks.get(uid);
  if (task !== undefined && task.phase !== 'done') return false;
  tasks.delete(uid);
  first();
  return true;
}

function progress({ tasks }: DraManager, uid: string): ClaimProgress {
  const task = tasks.get(uid);
  if (task !== undefined && task.phase !== 'done') return { kind: 'waiting' };
  tasks.delete(uid);
  return { kind: 'done', error: task?.error ?? null };
}

function taskEnded({ state, turn }: ClaimHost, task: DraTask): void {
  const { dra, runs } = draManagerState(state);
  const { kind, podUid, error } = task;
  if (dra === null) return;
  if (error !== null) turn.log('error', kind === 'prepare' ? 'Failed to prepare dynamic resources' : 'Failed to unprepare dynamic resources', { podUID: podUid, err: error });
  if (kind === 'prepare' && error !== null) dra.failedPods.add(podUid);
  else dra.failedPods.delete(podUid);
  // Status writes held back for its claims may be sent now.
  if (kind === 'unprepare' && error === null) queueStatusWrite(state, podUid);
  if (runs.has(podUid)) {
    resumeRuns(state, [podUid]);
    turn.wakeAt(claimsAddress, turn.now);
    return;
  }
  dra.tasks.delete(podUid);
  if (kind === 'unprepare' && error !== null) requestPassBy(state, turn.now + reconcilePeriod);
}

/** A driver that came or went: pods that could not get their claims try again. */
export function draDriverChanged({ state, turn }: ClaimHost): void {
  requestSyncs(state, state.dra?.failedPods ?? []);
  if (state.backlog.syncs.size > 0) turn.wakeAt(claimsAddress, turn.now);
}

/** Unprepares claims of pods that are completely removed, for any reason. */
export function unprepareOrphans(host: ClaimHost, known: ReadonlyMap<string, KnownPod>, running: ReadonlySet<string>): void {
  const state = draManagerState(host.state);
  const { dra } = state;
  if (dra === null) return;
  for (const uid of dra.failedPods) if (!state.pods.pods.has(uid)) dra.failedPods.delete(uid);
  const uids = new Set([...dra.claims.values()].flatMap(({ podUids }) => [...podUids]));
  for (const uid of uids) if (!isNeeded(state, uid, known, running) && !dra.tasks.has(uid)) beginUnprepare(dra, uid, draContext(host));
}

function isNeeded(state: AgentView, uid: string, known: ReadonlyMap<string, KnownPod>, running: ReadonlySet<string>): boolean {
  if (state.runs.has(uid) || running.has(uid) || state.admission.pending.has(uid)) return true;
  const worker = known.get(uid);
  if (worker !== undefined) return worker.state !== 'terminated';
  const pod: Pod | undefined = state.pods.pods.get(uid);
  return pod !== undefined && isActive(state, pod);
}
