// Pods whose input has ended the process by a programmer error, as data. The shell writes each such end with its input to disk; the number of ends
// and the time of the next try follow from these files alone.
//
//   one end -> it keeps running as any other
//   a second one within ten minutes -> aside -> [its pause has passed | its object changes | its object is removed] -> returning -> trial -> [ten minutes] -> forgiven
//   a further end in `trial` or `aside` -> aside, with twice the pause
//
// Invariants: a pod that is aside is in no worker, run or write, and only inspected for the images of its containers; only a start sets a pod
// aside, since a failed step leaves no state to continue with. Times between ends of one boot are by the clock that is never set; stamps count only
// where the host was booted in between.

import type { Instant } from '../../../ports/instant.js';
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PodEnd } from '../../../ports/model/pod-end.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import { doubledPause } from '../../backoff/doubled-pause.js';
import { newStateFileWriter, type StateFileWriter } from '../../checkpoints/state-file-writer.js';
import type { PodSource } from '../../pod-sources/pod-config.js';
import { microsBetween } from '../../values/instant.js';
import { microsPerMinute } from '../../values/time.js';

/** Only in the answer to queries, never stored: why the pod is aside. */
export const setAsideAnnotation = 'kubelet-ts.dev/set-aside';

export interface SetAsideSettings {
  /** What earlier agents were ended by, oldest first. */
  readonly ends: readonly PodEnd[];
  /** Text of the state file `set_aside_pods`; null if absent. */
  readonly forgiven: string | null;
}

export interface SetAsidePod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly manifestUid: string;
  readonly ends: number;
  readonly lastEnd: Pick<PodEnd, 'at' | 'sinceBoot'>;
  /** All ends that count. */
  readonly files: readonly string[];
  /** See `PodEnd`. One that isn't known is learned when the object is delivered. */
  version: string | null;
  readonly file: string;
  /** It has ended the process while it was aside: even its object is ignored. */
  readonly isHidden: boolean;
  phase: 'aside' | 'returning' | 'trial';
  /** When it is tried again; in `trial`: when it is forgiven. */
  until: Micros;
  /** The same, for display. */
  shownUntil: Instant;
  /** Its object, as last delivered; null: none, or it was removed. */
  pod: Pod | null;
  /** The object before its removal; null: not removed. */
  removed: Pod | null;
  source: PodSource;
  /** Its containers' images; null: not known. */
  images: readonly string[] | null;
  /** Its listing in the runtime; null: absent, or not listed yet. */
  listed: ListedPod | null;
}

export interface SetAsideState {
  readonly pods: Map<string, SetAsidePod>;
  /** Ends that no longer count, by their files: timestamps are unreliable after a change of the wall clock. */
  readonly forgiven: Set<string>;
  /** Of `forgiven`; raised by each change that must be on disk. */
  revision: number;
  /** By the revision; 0 is the file of the previous agent. */
  readonly file: StateFileWriter<number>;
}

export const setAsideMachine = 'set-aside';
export const setAsideFileName = 'set_aside_pods';

/** Ends within this are the same fault. */
export const endsWithin: Micros = 10 * microsPerMinute;
const firstPause: Micros = 10 * microsPerMinute;
const longestPause: Micros = 360 * microsPerMinute;
const firstChangePause: Micros = microsPerMinute;
const endsUntilAside = 2;

export function newSetAside({ ends, forgiven: text }: SetAsideSettings): SetAsideState {
  const known = new Set(ends.map(({ uid }) => uid));
  const files = new Set(ends.map(({ file }) => file));
  const forgiven = new Set(readForgiven(text).filter((file) => files.has(file)));
  const pods = new Map<string, SetAsidePod>();
  for (const uid of known) {
    const counted = countedEnds(ends.filter((end) => end.uid === uid && !forgiven.has(end.file)));
    const last = counted.at(-1);
    if (last === undefined || counted.length < endsUntilAside) continue;
    const { version, file, at } = last;
    // An agent that ended before its sources were read may not have known all of it.
    const { namespace, name } = counted.findLast((end) => end.name !== '') ?? last;
    const { manifestUid } = counted.findLast((end) => end.manifestUid !== uid) ?? last;
    const isHidden = counted.some(({ wasAside }) => wasAside);
    const none = { pod: null, removed: null, listed: null, images: null, source: 'api', until: 0, phase: 'aside' } as const;
    pods.set(uid, {
      ...none,
      uid,
      namespace,
      name,
      manifestUid,
      version,
      file,
      isHidden,
      ends: counted.length,
      files: counted.map((end) => end.file),
      lastEnd: last,
      shownUntil: at,
    });
  }
  const file = newStateFileWriter(setAsideFileName, { machine: setAsideMachine, key: '' }, 0, { isRequired: false });
  return { pods, forgiven, revision: 0, file };
}

/** The ends that belong together up to the last one: the second within ten minutes of the first, and every later one. */
function countedEnds(ends: readonly PodEnd[]): readonly PodEnd[] {
  let counted: PodEnd[] = [];
  for (const end of ends) {
    const before = counted.at(-1);
    const isSame = counted.length >= endsUntilAside || (before !== undefined && passedBetween(before, end) <= endsWithin);
    counted = isSame ? [...counted, end] : [end];
  }
  return counted;
}

/** Negative where only stamps are known and the wall clock was set back. */
function passedBetween(before: PodEnd, end: PodEnd): Micros {
  const [from, to] = [before.sinceBoot, end.sinceBoot];
  return from !== null && to !== null && from.bootId === to.bootId ? to.at - from.at : microsBetween(before.at, end.at);
}

/** The pause of a pod after its last end. */
export function pauseOf(ends: number): Micros {
  return doubledPause(firstPause, longestPause, ends - endsUntilAside);
}

/** How long after its last end a change of its object is waited for with: the first one counts at once. */
export function changePauseOf(ends: number): Micros {
  return ends <= endsUntilAside ? 0 : doubledPause(firstChangePause, pauseOf(ends), ends - endsUntilAside - 1);
}

export function writeForgiven(forgiven: ReadonlySet<string>): string {
  return `${JSON.stringify({ forgiven: [...forgiven] })}\n`;
}

/** Text that isn't readable forgives nothing: the pods are tried again in their time. */
function readForgiven(text: string | null): readonly string[] {
  try {
    const { forgiven } = JSON.parse(text ?? '{}') as { readonly forgiven?: unknown };
    return Array.isArray(forgiven) ? forgiven.filter((file) => typeof file === 'string') : [];
  } catch {
    return [];
  }
}
