// The next request to bring one pod's status into the API. Decided before each request, from the last write and the API's current
// status, never from an earlier plan.
//
// | condition                                                               | next                               |
// |-------------------------------------------------------------------------|------------------------------------|
// | the outcome of the last request is unknown, or the API refused it        | read the pod                       |
// | the pod in the API is another one, or is gone                           | nothing                            |
// | the API's status differs from the merge of it and the newest status     | patch                              |
// | deleted, ended and terminal in the API, all of it released              | delete it permanently              |
// | otherwise                                                               | nothing: the version has been sent |
//
// Invariants: a pod is deleted only after the API shows a terminal phase; a request has a UID precondition; a status that was
// built on an older version of the pod than the last known one is never sent.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { isSameJson } from '../api-cache/strategic-merge-patch.js';
import { isNewerVersion } from '../values/resource-version.js';
import { type PodStatusPatch, podStatusPatch } from './pod-status-patch.js';
import { mayDeleteFromApi, type StatusRecord } from './status-manager.js';
import { mergedStatus, withTransitionTime } from './status-merge.js';

export interface StatusWrite {
  /** The object in the API that all of this is about: the pod's own uid, or that of the mirror pod that shows it now; '': none yet. */
  target: string;
  /** The newest version of the record that the API is known to show; 0: none. */
  sentVersion: number;
  /** The pod in the answer to the last request; null: none. */
  answered: Pod | null;
  /** The patch that led to `answered`; null: none. */
  patched: PodStatusPatch | null;
  /** The API's state is uncertain: read it first. */
  readFirst: boolean;
  /** The final deletion was accepted: finalizers may keep the object, and no update follows. */
  deleted: boolean;
  /** Version of the record that the request in flight carries; null: none is in flight. */
  sending: number | null;
  /** When the last request was answered; null: never. */
  wroteAt: Micros | null;
}

export function newStatusWrite(): StatusWrite {
  return { target: '', sentVersion: 0, answered: null, patched: null, readFirst: false, deleted: false, sending: null, wroteAt: null };
}

export interface StatusWrites {
  readonly pods: Map<string, StatusWrite>;
  /** UIDs of pods with pending updates, in order of arrival. */
  readonly queue: Set<string>;
  active: number;
  /** The server can't be written to until then; null: it can. */
  pausedUntil: Micros | null;
  /** The pause before, grown while nothing succeeds; 0: none. */
  pause: Micros;
}

export function newStatusWrites(): StatusWrites {
  return { pods: new Map(), queue: new Set(), active: 0, pausedUntil: null, pause: 0 };
}

/** Keeps the API's data from before this agent: the start time, host and condition times of a static pod, whose status began without the API. */
export function heldToApi(record: StatusRecord, api: PodStatus, wall: Instant): StatusRecord {
  const { startTime, conditions = [] } = record.status;
  const held = conditions.map((condition) => (condition.lastTransitionTime === undefined ? condition : withTransitionTime(condition, api, wall)));
  const since = api.startTime !== undefined && startTime !== undefined && api.startTime < startTime ? { startTime: api.startTime } : {};
  const where = record.status.hostIP !== undefined || api.hostIP === undefined ? {} : { hostIP: api.hostIP, ...(api.hostIPs === undefined ? {} : { hostIPs: api.hostIPs }) };
  return { ...record, status: { ...record.status, ...since, ...where, ...(record.status.conditions === undefined ? {} : { conditions: held }) } };
}

export type WriteStep = { readonly do: 'read' } | { readonly do: 'patch'; readonly body: PodStatusPatch } | { readonly do: 'delete' } | { readonly do: 'nothing' };

export interface WriteSituation {
  readonly record: StatusRecord;
  /** The last watched pod, for a static pod its mirror; null: not in the API. */
  readonly watched: Pod | null;
  /** Containers of the pod may still run. */
  readonly couldHaveRunningContainers: boolean;
  readonly wall: Instant;
}

export function nextWriteStep(write: StatusWrite, { record, watched, couldHaveRunningContainers, wall }: WriteSituation): WriteStep {
  if (watched === null || write.deleted) return nothing;
  if (write.readFirst) return { do: 'read' };
  // Read as another pod than the watch still shows: it will see that soon.
  if (write.answered !== null && write.answered.metadata.uid !== watched.metadata.uid) return nothing;
  const base = newestPod(write, watched);
  const status = mergedStatus({ apiPod: base, status: record.status, couldHaveRunningContainers, wall });
  const body = podStatusPatch(base, status);
  // A value that the server received and did not keep would be sent forever.
  const isKept = body === null || (base === write.answered && write.patched !== null && isSameJson(body, write.patched));
  if (!isKept) return { do: 'patch', body };
  return mayDeleteFromApi(base, record) ? { do: 'delete' } : nothing;
}

/** Begins afresh where a pod is shown by another object than before. Returns whether it is. */
export function aim(write: StatusWrite, { metadata: { uid = '' } }: Pod): boolean {
  if (write.target === uid) return false;
  write.target = uid;
  write.sentVersion = 0;
  write.answered = null;
  write.patched = null;
  write.readFirst = false;
  write.deleted = false;
  return true;
}

const nothing: WriteStep = { do: 'nothing' };

/** A watch may be behind our own requests. */
export function newestPod({ answered }: StatusWrite, watched: Pod): Pod {
  if (answered === null || answered.metadata.uid !== watched.metadata.uid) return watched;
  return isNewerVersion(answered.metadata.resourceVersion, watched.metadata.resourceVersion) ? answered : watched;
}
