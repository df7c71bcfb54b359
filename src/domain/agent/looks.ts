// Asking the runtime: for everything, or for one pod. What the answers mean is in relist.
import { isPodRelistDue } from '../pleg/pleg.js';
import type { AgentContext } from './agent-context.js';

export const relistAddress = { machine: 'relist', key: '' } as const;
export const podRelistMachine = 'relist-pod';
/** Pods looked at side by side; more wait. */
const maxLooks = 32;

/**
 * Begins a look at everything. It and looks at single pods keep out of each other's way: what an older answer says must never replace
 * what a newer one said, and a pod that is missing from an older list must not look gone.
 */
export function beginRelist(context: AgentContext): void {
  const { relist, settings, pleg } = context.state;
  if (relist.listing || pleg.round !== null) return;
  context.turn.wakeAt(relistAddress, null);
  relist.due = relist.looks.size > 0;
  if (relist.due) return;
  relist.listing = true;
  context.turn.ask('runtime.listPods', relistAddress, 'list', { uid: null }, settings.runtimeRequestTimeout);
}

/** Asks for a look at one pod soon. One request a pod is kept: the newest. */
export function requestPodRelist(context: AgentContext, uid: string): void {
  // What is aside is looked at by nobody.
  if (context.state.setAside.pods.get(uid)?.phase === 'aside') return;
  context.state.relist.requests.set(uid, context.turn.now);
  beginLooks(context);
}

/** Asks for a look at one pod when one that is polled would show what has just happened to it. */
export function planPodRelist({ turn, state }: AgentContext, uid: string): void {
  turn.wakeAt({ machine: podRelistMachine, key: uid }, turn.now + state.settings.relistPeriod);
}

/** A planned look is due; of a pod that is gone by now nobody wants to know. */
export function podRelistDue(context: AgentContext, uid: string): void {
  if (context.state.workers.records.has(uid) || context.state.setAside.pods.get(uid)?.phase === 'returning') requestPodRelist(context, uid);
}

/** Begins what waits: a full look that is due, else the looks at single pods, as many as may go on at once. */
export function beginLooks(context: AgentContext): void {
  const { state, turn } = context;
  const { relist, pleg } = state;
  if (relist.due && relist.looks.size === 0) beginRelist(context);
  if (relist.due || relist.listing || pleg.round !== null) return;
  for (const [uid, requestedAt] of relist.requests) {
    if (relist.looks.size >= maxLooks) return;
    if (relist.looks.has(uid)) continue;
    relist.requests.delete(uid);
    if (!isPodRelistDue(pleg, requestedAt)) continue;
    relist.looks.set(uid, turn.now);
    context.forPod(uid, () => turn.ask('runtime.inspectPod', relistAddress, `look/${uid}`, { uid }, state.settings.runtimeRequestTimeout));
  }
}
