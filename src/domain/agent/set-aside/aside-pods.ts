// Which pods the agent leaves untouched: those set aside (`set-aside-state.ts`), those with an unreadable object, and namesakes of a static pod
// that are not inspected yet (`adopted-pods.ts`).
import type { AgentView } from '../agent-view.js';

/** The pod stays untouched: it is set aside, its object is unreadable, or its adoption is undecided. */
export function isAside(state: Pick<AgentView, 'setAside' | 'api' | 'adoption'>, uid: string): boolean {
  const { setAside } = state;
  const phase = setAside.pods.size === 0 ? undefined : setAside.pods.get(uid)?.phase;
  return phase === 'aside' || phase === 'returning' || isUnreadable(state, uid) || isAwaited(state, uid);
}

export function asideUids(state: AgentView): string[] {
  const awaited = [...state.adoption.awaited.values()].flatMap(({ uids }) => uids);
  return [...state.setAside.pods.keys(), ...unreadableUids(state), ...awaited].filter((uid) => isAside(state, uid));
}

/** Pods that are set aside because of their input, as the gauge counts them. */
export function setAsideUids({ setAside }: Pick<AgentView, 'setAside'>): string[] {
  return [...setAside.pods.values()].flatMap(({ uid, phase }) => (phase === 'trial' ? [] : [uid]));
}

function isAwaited({ adoption }: Pick<AgentView, 'adoption'>, uid: string): boolean {
  for (const { uids } of adoption.awaited.values()) if (uids.includes(uid)) return true;
  return false;
}

/**
 * Pods of this node with an unreadable object and no earlier known version: only their existence is known. Their containers
 * keep running, as if an earlier version were known.
 */
function unreadableUids({ api }: Pick<AgentView, 'api'>): string[] {
  const pods = api?.reflectors.get('pods');
  if (pods === undefined || pods.unusable.size === 0) return [];
  return [...pods.unusable].flatMap(([key, { uid }]) => (uid === null || pods.objects.has(key) ? [] : [uid]));
}

function isUnreadable(state: Pick<AgentView, 'api'>, uid: string): boolean {
  return (state.api?.reflectors.get('pods')?.unusable.size ?? 0) > 0 && unreadableUids(state).includes(uid);
}
