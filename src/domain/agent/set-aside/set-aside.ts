// Isolates pods that are aside (`set-aside-state.ts`) from all work of the agent, and returns them.
//
// While a pod is aside, these stay unchanged: its containers, sandboxes, cgroup, volumes, directories and images (logs are rotated by size); its status in the API and its
// mirror pod; its share of the node's resources. It isn't probed, evicted, preempted, resized or ended with the node, and nothing of it is collected.
//
// It returns in two steps: first it is inspected in the runtime (`returning`), so that its worker never begins without knowing its running
// containers; then it is delivered as a new pod (`trial`).
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PodEnd } from '../../../ports/model/pod-end.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import { mayWrite, stateFileWritten, writeStateFile } from '../../checkpoints/state-file-writer.js';
import { canonicalJson, hashText } from '../../kernel/canonical.js';
import type { Address, Reply, Wake } from '../../kernel/machine.js';
import type { View } from '../../kernel/view.js';
import { areAllSourcesReady, type DeliveryOp, type PodConfigState, type PodSource } from '../../pod-sources/pod-config.js';
import { isAlive } from '../../values/alive.js';
import { instantAfter, momentAhead } from '../../values/instant.js';
import { podUidOfLogDirectory } from '../../values/log-paths.js';
import { formatRfc3339, microsPerSecond } from '../../values/time.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentEvent } from '../agent-state.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { requestPodRelist } from '../pleg/looks.js';
import { inheritPod } from '../pod-config/requests.js';
import { addToIndex, removeFromIndex } from '../pod-manager/indexed-pods.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { isAside } from './aside-pods.js';
import { changePauseOf, endsWithin, pauseOf, type SetAsidePod, setAsideMachine, writeForgiven } from './set-aside-state.js';
import { asSetAside, type SetAsideContext, setAsideState } from './slice.js';

const setAsideReason = 'PodSetAside';
const triedAgainReason = 'PodTriedAgain';
const retryPause: Micros = 60 * microsPerSecond;
const imagesKey = 'images/';

const addressOf = (uid: string): Address => ({ machine: setAsideMachine, key: uid });

/** The agent starts: pods whose pause has passed are retried at once, the others are aside from here on. */
export function beginSetAside(context: SetAsideContext): void {
  const { state } = context;
  for (const pod of state.setAside.pods.values()) context.forPod(pod.uid, () => beginOne(context, pod));
}

function beginOne(context: SetAsideContext, pod: SetAsidePod): void {
  const { turn } = context;
  const until = untilAfterEnd(context, pod, pauseOf(pod.ends));
  if (until <= turn.now) {
    beginTrial(context, pod);
    return;
  }
  wait(context, pod, until);
  askImages(context, pod);
  const message = setAsideMessage(pod);
  turn.log('error', 'A pod is set aside', {
    pod: `${pod.namespace}/${pod.name}`,
    podUID: pod.uid,
    ends: pod.ends,
    until: untilText(pod),
    file: pod.file,
    err: message,
  });
  podEvent(context, pod, 'Warning', setAsideReason, message);
  context.nodeWarning(setAsideReason, `Pod ${pod.namespace}/${pod.name} (${pod.uid}): ${message}`);
}

/** A pause from the pod's last end on. If the host was booted since then, only stamps are known: a wall clock that was set back never prolongs it. */
function untilAfterEnd({ state, turn }: SetAsideContext, { lastEnd: { at, sinceBoot } }: SetAsidePod, pause: Micros): Micros {
  const { bootId, bootedAt } = state.settings.observedTimes;
  const until = sinceBoot !== null && sinceBoot.bootId === bootId ? sinceBoot.at + bootedAt + pause : momentAhead(instantAfter(at, pause), turn);
  return Math.max(turn.now, Math.min(until, turn.now + pause));
}

function wait({ turn }: SetAsideContext, pod: SetAsidePod, until: Micros): void {
  pod.until = until;
  pod.shownUntil = instantAfter(turn.wall, until - turn.now);
  turn.wakeAt(addressOf(pod.uid), until);
}

function untilText({ shownUntil }: SetAsidePod): string {
  return formatRfc3339(shownUntil);
}

/** Its images must be kept: inspects it once for them. A pod that ended the agent while it was aside is never inspected. */
function askImages({ turn, state }: SetAsideContext, { uid, isHidden, phase }: SetAsidePod): void {
  const address = addressOf(uid);
  if (isHidden || phase !== 'aside' || turn.inFlight(address, 'images')) return;
  turn.ask('runtime.inspectPod', address, 'images', { uid }, state.settings.runtimeRequestTimeout);
}

/** Images of containers of pods that are aside; null: not known, so any image may be in use. */
export function asideImages(state: AgentView): readonly string[] | null {
  const known: string[] = [];
  for (const { uid, images } of state.setAside.pods.values()) {
    if (!isAside(state, uid)) continue;
    if (images === null) return null;
    known.push(...images);
  }
  return known;
}

/** Why a pod is aside, for events, logs and users. */
export function setAsideMessage(pod: SetAsidePod): string {
  const { ends, file } = pod;
  return (
    `The kubelet has ended ${ends} times on input of this pod and leaves it alone: its containers run on, it is not synced and its status is not written. ` +
    `It is tried again at ${untilText(pod)}, or when its object changes. Stack and input: ${file}`
  );
}

type Input = AgentEvent | Reply<AgentOperations> | Wake;

/** Removes the runtime's and the disk's data of pods that are aside from an input. */
export function withoutAside(state: AgentView, input: Input): Input {
  if (state.setAside.pods.size === 0 || input.type !== 'reply' || !input.outcome.ok) return input;
  const isSeen = (uid: string): boolean => state.setAside.pods.get(uid)?.phase !== 'aside';
  switch (input.op) {
    case 'runtime.listPods': {
      const listing = input.outcome.value;
      for (const pod of listing.pods) if (!isSeen(pod.uid)) noteListed(state, pod);
      return { ...input, outcome: { ok: true, value: { ...listing, pods: listing.pods.filter(({ uid }) => isSeen(uid)) } } };
    }
    case 'podCgroups.list':
      return { ...input, outcome: { ok: true, value: input.outcome.value.filter(({ uid }) => isSeen(uid)) } };
    case 'podDirectories.list':
      return { ...input, outcome: { ok: true, value: input.outcome.value.filter(isSeen) } };
    case 'podLogs.listDirectories':
      return { ...input, outcome: { ok: true, value: input.outcome.value.filter((name) => isSeen(podUidOfLogDirectory(name) ?? '')) } };
    default:
      return input;
  }
}

/** A static pod that replaces one that is aside waits for its end, as for that of any other that ran before this agent did. */
function noteListed(view: AgentView, listed: ListedPod): void {
  const { setAside } = setAsideState(view);
  const pod = setAside.pods.get(listed.uid);
  if (pod === undefined) return;
  if (pod.listed === null && isAlive(listed)) inheritPod(view, listed);
  pod.listed = listed;
}

/** A source's update of a pod that is aside. It keeps its place on the node; a change brings it back. */
export function keepAside(caller: AgentContext, op: DeliveryOp, source: PodSource, pod: Pod): void {
  const context = asSetAside(caller);
  const { state } = context;
  const aside = state.setAside.pods.get(uidOf(pod));
  if (aside === undefined) return;
  if (op === 'REMOVE') {
    removeFromIndex(state, pod);
    aside.removed = pod;
    aside.pod = null;
  } else {
    if (!aside.isHidden) addToIndex(state, pod);
    aside.pod = pod;
    aside.removed = null;
    aside.source = source;
  }
  const version = objectVersion(state.config, aside.uid) ?? '';
  aside.version ??= version;
  if (aside.phase !== 'aside' || version === aside.version) return;
  bringBackChanged(context, aside, 'its object has changed');
}

/** The desired pod has changed: it returns at once, and after further ends after a separate pause. */
function bringBackChanged(context: SetAsideContext, pod: SetAsidePod, why: string): void {
  const at = untilAfterEnd(context, pod, changePauseOf(pod.ends));
  if (at <= context.turn.now) bringBack(context, pod, why);
  else if (at < pod.until) wait(context, pod, at);
}

/** A source's version of a pod, as a text that differs after each change of the object; null: no source has it. */
export function objectVersion({ sources }: View<PodConfigState>, uid: string): string | null {
  for (const { pods } of sources.values()) {
    const incoming = pods.get(uid)?.incoming;
    if (incoming !== undefined) return incoming.metadata.resourceVersion ?? hashText(canonicalJson(incoming));
  }
  return null;
}

/** The pod that a step was about which failed; null: none is known. @param now by the agent's clock */
export function endedPodOf(agent: AgentView, now: Micros): Omit<PodEnd, 'at' | 'file'> | null {
  const uid = agent.subject;
  const { bootId, bootedAt } = agent.settings.observedTimes;
  if (uid === null || uid === '') return null;
  const aside = agent.setAside.pods.get(uid);
  const known = agent.pods.pods.get(uid) ?? agent.pods.mirrors.get(uid) ?? [...agent.config.sources.values()].flatMap(({ pods }) => pods.get(uid)?.pod ?? [])[0];
  const [name = '', namespace = ''] = agent.workers.records.get(uid)?.fullName.split('_') ?? [];
  // Before a source has reported, the runtime's listing is used.
  const listed = agent.relist.newest?.pods.find((pod) => pod.uid === uid);
  const adopted = [...agent.adoption.adopted.values()].find((pod) => pod.uid === uid);
  return {
    uid,
    namespace: known?.metadata.namespace ?? aside?.namespace ?? listed?.namespace ?? namespace,
    name: known?.metadata.name ?? aside?.name ?? listed?.name ?? name,
    version: objectVersion(agent.config, uid) ?? (areAllSourcesReady(agent.config) ? '' : (aside?.version ?? null)),
    manifestUid: adopted?.ownUid ?? aside?.manifestUid ?? uid,
    wasAside: aside?.phase === 'aside',
    sinceBoot: bootId === '' ? null : { bootId, at: Math.floor(now - bootedAt) },
  };
}

/** Every source has reported: pods whose object was removed meanwhile come back to be ended. */
export function bringBackGone(caller: AgentContext): void {
  const context = asSetAside(caller);
  const { setAside, config } = context.state;
  for (const pod of setAside.pods.values())
    if (pod.phase === 'aside' && pod.version !== '' && objectVersion(config, pod.uid) === null) bringBackChanged(context, pod, 'its object has gone');
}

/** A successor under its name waits for the end of a pod that is aside. */
export function bringBackFor(caller: AgentContext, uid: string): void {
  const context = asSetAside(caller);
  const pod = context.state.setAside.pods.get(uid);
  if (pod?.phase === 'aside') bringBackChanged(context, pod, 'another pod takes its place');
}

function bringBack(context: SetAsideContext, pod: SetAsidePod, why: string): void {
  pod.phase = 'returning';
  const name = `${pod.namespace}/${pod.name}`;
  context.turn.log('info', 'A pod that was set aside is tried again', { pod: name, podUID: pod.uid, why });
  podEvent(context, pod, 'Normal', triedAgainReason, `The kubelet works on this pod again: ${why}`);
  requestPodRelist(context, pod.uid);
}

/** At the end of a step. Returns pods to deliver: those that have been inspected. */
export function takeReturned(caller: AgentContext): readonly SetAsidePod[] {
  const context = asSetAside(caller);
  const { state } = context;
  const returned = [...state.setAside.pods.values()].filter(({ uid, phase }) => phase === 'returning' && state.cache.entries.get(uid)?.cached.kind === 'status');
  for (const pod of returned) beginTrial(context, pod);
  return returned;
}

function beginTrial({ turn }: SetAsideContext, pod: SetAsidePod): void {
  pod.phase = 'trial';
  pod.until = turn.now + endsWithin;
  turn.wakeAt(addressOf(pod.uid), pod.until);
}

export function setAsideWoken(context: SetAsideContext, key: string): void {
  const { setAside } = context.state;
  const uid = key.startsWith(imagesKey) ? key.slice(imagesKey.length) : key;
  const pod = setAside.pods.get(uid);
  if (pod !== undefined && key !== uid) askImages(context, pod);
  else if (pod?.phase === 'aside') bringBack(context, pod, 'its pause is over');
  else if (pod?.phase === 'trial') forgive(context, pod);
}

/** It has worked for ten minutes: its earlier ends no longer count. */
function forgive({ state, turn }: SetAsideContext, pod: SetAsidePod): void {
  const { setAside } = state;
  setAside.pods.delete(pod.uid);
  for (const file of pod.files) setAside.forgiven.add(file);
  setAside.revision++;
  turn.log('info', 'A pod that was set aside is well again', { pod: `${pod.namespace}/${pod.name}`, podUID: pod.uid });
}

/** At the end of a step. */
export function planSetAsideFile({ state, turn }: SetAsideContext): void {
  const { file, revision, forgiven } = state.setAside;
  if (file.onDisk !== revision && mayWrite(file, turn.now)) writeStateFile(file, revision, writeForgiven(forgiven), turn);
}

export function setAsideWritten({ state, turn }: SetAsideContext, answer: AnswerOf<'stateFiles.write'>): void {
  stateFileWritten(state.setAside.file, answer, turn);
}

/** The images of its containers are known. @param uid of the pod */
export function asideInspected({ state, turn }: SetAsideContext, uid: string, { outcome }: AnswerOf<'runtime.inspectPod'>): void {
  const pod = state.setAside.pods.get(uid);
  if (pod !== undefined && outcome.ok) pod.images = (outcome.value?.containers ?? []).flatMap(({ imageId, imageRef }) => [imageId, imageRef]);
  else turn.wakeAt(addressOf(`${imagesKey}${uid}`), turn.now + retryPause);
}

function podEvent({ turn }: SetAsideContext, { namespace, name, uid }: SetAsidePod, type: 'Normal' | 'Warning', reason: string, message: string): void {
  turn.emit('events.record', { involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid }, type, reason, message });
}
