// User namespace ranges of pods as a part of the agent: requests of pods' runs, and releasing ranges.
// Invariant: a range is released only when its pod has no directory, no worker and no container any more.

import type { RangesOfPods } from '../../pod-sync/sync-context.js';
import type { KnownPod } from '../../pod-workers/known-pods.js';
import { podsWithRanges, rangeForSandbox, rangeOfSandbox, rangeWritten, releaseRange, takeFiles } from '../../user-namespaces/user-namespaces.js';
import type { AgentView } from '../agent-view.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import { userNamespaceManagerState } from './slice.js';

export function rangesOfPods(view: AgentView): RangesOfPods {
  const state = userNamespaceManagerState(view);
  const { userNamespaces } = state;
  return {
    get known() {
      return userNamespaces.known;
    },
    taken(files) {
      // The files may belong to pods that were removed meanwhile.
      if (takeFiles(userNamespaces, files) > 0) requestCleanUp(state);
    },
    ofPod: (uid, fresh) => (fresh ? rangeForSandbox(userNamespaces, uid) : rangeOfSandbox(userNamespaces, uid)),
    written: (uid) => rangeWritten(userNamespaces, uid),
  };
}

/** Releases the ranges of pods that are completely removed, for any reason. */
export function releaseOrphanRanges(view: AgentView, known: ReadonlyMap<string, KnownPod>, running: ReadonlySet<string>): void {
  const state = userNamespaceManagerState(view);
  const { userNamespaces, housekeeping, pods, orphans } = state;
  const directories = new Set(housekeeping.directories);
  for (const uid of podsWithRanges(userNamespaces)) {
    const isThere = directories.has(uid) || orphans.has(uid) || pods.pods.has(uid) || known.has(uid) || running.has(uid);
    if (!isThere) releaseRange(userNamespaces, uid);
  }
}

/** The pod's directory is removed. */
export function releasePodRange(state: AgentView, uid: string): void {
  releaseRange(userNamespaceManagerState(state).userNamespaces, uid);
}
