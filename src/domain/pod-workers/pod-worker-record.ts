// The record of one pod UID from its first update until it is removed completely, and of all of them together.
// The records are the authority for "may containers of this UID be running".
//
// | state       | entered when                                        | operation that runs                                |
// |-------------|-----------------------------------------------------|----------------------------------------------------|
// | sync        | first update                                        | syncPod                                            |
// | terminating | deletion, kill, terminal phase, orphaned, completed | syncTerminatingPod, syncTerminatingRuntimePod      |
// | terminated  | the terminating operation succeeded                 | syncTerminatedPod                                  |
// | finished    | the terminated operation succeeded, or never started| none, until the record is forgotten                |
//
// Invariants: operations on one UID are strictly sequential; the states are passed in this order only; the grace period never grows;
// termination data is in the record, never in an update, since a newer update may replace an unprocessed one.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';

export type PodUpdateType = 'create' | 'update' | 'sync' | 'kill';
export type PodWorkerState = 'sync' | 'terminating' | 'terminated';

/** A pod known only from the runtime: the data that a kill needs. */
export interface RunningPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** The status that a killer sets on the pod it ends (eviction, preemption, node shutdown). */
export interface TerminationStatus {
  readonly reason: string;
  readonly message: string;
  /** The reason of the condition DisruptionTarget; null: no such condition. */
  readonly disruptionReason: string | null;
  readonly disruptionMessage: string | null;
  /** A pod that succeeded stays so; any other one fails. */
  readonly keepsSuccess: boolean;
}

export interface KillPodOptions {
  /** Marks the pod as evicted: its content is removed before the API object. */
  readonly evict: boolean;
  /** Seconds; null: the pod's own grace period counts. */
  readonly gracePeriodOverride: number | null;
  readonly statusChange: TerminationStatus | null;
  /** The notification after the containers are stopped; null: none. */
  readonly completion: string | null;
}

export interface PodUpdate {
  readonly type: PodUpdateType;
  readonly pod: Pod | null;
  readonly mirrorPod: Pod | null;
  readonly runningPod: RunningPod | null;
  readonly killOptions: KillPodOptions | null;
  /** When the change was first seen, for the latency metric; null: not measured. */
  readonly startTime: Micros | null;
}

/** The worker's current activity: waits for a fresh runtime status, or runs an operation. */
export interface PodWorkerRun {
  readonly state: PodWorkerState;
  readonly update: PodUpdate;
  operating: boolean;
  cancelled: boolean;
}

export interface PodWorkerRecord {
  readonly uid: string;
  /** `<name>_<namespace>` */
  readonly fullName: string;
  /** Only the newest is kept. */
  pending: PodUpdate | null;
  /** The last update acted on; set only for started pods and runtime-only kills. Used for replays. */
  active: PodUpdate | null;
  run: PodWorkerRun | null;
  readonly syncedAt: Micros;
  startedAt: Micros | null;
  terminatingAt: Micros | null;
  startedTerminating: boolean;
  terminatedAt: Micros | null;
  finished: boolean;
  deleted: boolean;
  evicted: boolean;
  restartRequested: boolean;
  observedRuntime: boolean;
  /** Effective grace period in seconds; 0: not decided yet. */
  gracePeriodSeconds: number;
  statusChanges: TerminationStatus[];
  completions: string[];
  /** When this worker's last run returned; null: never. The next one waits for a runtime status newer than that. */
  lastRunEndedAt: Micros | null;
  /** The last run failed, and the next one waits for its time. */
  backsOff: boolean;
}

export interface PodWorkers {
  readonly records: Map<string, PodWorkerRecord>;
  /** Full name -> the one static pod of that name that has been started. */
  readonly startedStaticPods: Map<string, string>;
  /** Full name -> UIDs that wait for their turn, in the order they came. */
  readonly waitingStaticPods: Map<string, string[]>;
  /** Whether housekeeping has passed once: until then nothing is known about UIDs that have no record. */
  synced: boolean;
}

export function newPodWorkers(): PodWorkers {
  return { records: new Map(), startedStaticPods: new Map(), waitingStaticPods: new Map(), synced: false };
}

export function newRecord(uid: string, fullName: string, now: Micros): PodWorkerRecord {
  return {
    uid,
    fullName,
    pending: null,
    active: null,
    run: null,
    syncedAt: now,
    startedAt: null,
    terminatingAt: null,
    startedTerminating: false,
    terminatedAt: null,
    finished: false,
    deleted: false,
    evicted: false,
    restartRequested: false,
    observedRuntime: false,
    gracePeriodSeconds: 0,
    statusChanges: [],
    completions: [],
    lastRunEndedAt: null,
    backsOff: false,
  };
}

export function stateOf(record: PodWorkerRecord): PodWorkerState {
  if (record.terminatedAt !== null) return 'terminated';
  return record.terminatingAt !== null ? 'terminating' : 'sync';
}
