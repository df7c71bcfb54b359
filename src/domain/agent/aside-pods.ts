// Pods that the agent leaves untouched: those that are set aside (`set-aside-state.ts`), and those with an unreadable object.
import type { AgentState } from './agent-state.js';

/** Nothing is done about the pod: it is set aside, or what it is to be can't be read. */
export function isAside(state: Pick<AgentState, 'setAside' | 'api'>, uid: string): boolean {
  const { setAside } = state;
  const phase = setAside.pods.size === 0 ? undefined : setAside.pods.get(uid)?.phase;
  return phase === 'aside' || phase === 'returning' || isUnreadable(state, uid);
}

export function asideUids(state: AgentState): string[] {
  return [...state.setAside.pods.keys(), ...unreadableUids(state)].filter((uid) => isAside(state, uid));
}

/**
 * Pods of this node with an unreadable object and no earlier known version: only their existence is known. Their containers
 * keep running, as if an earlier version were known.
 */
export function unreadableUids({ api }: Pick<AgentState, 'api'>): string[] {
  const pods = api?.reflectors.get('pods');
  if (pods === undefined || pods.unusable.size === 0) return [];
  return [...pods.unusable].flatMap(([key, { uid }]) => (uid === null || pods.objects.has(key) ? [] : [uid]));
}

export function isUnreadable(state: Pick<AgentState, 'api'>, uid: string): boolean {
  return (state.api?.reflectors.get('pods')?.unusable.size ?? 0) > 0 && unreadableUids(state).includes(uid);
}
