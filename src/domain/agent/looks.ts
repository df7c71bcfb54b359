// Asking the runtime: for everything, or for one pod. What the answers mean is in relist.
import { isPodRelistDue } from '../pleg/pleg.js';
import type { AgentContext } from './agent-context.js';

export const relistAddress = { machine: 'relist', key: '' } as const;
/** Pods looked at side by side; more wait. */
const maxLooks = 32;

/** Begins a look at everything, unless one is under way: then the next one begins when that is over. */
export function beginRelist(context: AgentContext): void {
  const { relist, settings, pleg } = context.state;
  if (relist.listing || pleg.round !== null) return;
  relist.listing = true;
  context.turn.wakeAt(relistAddress, null);
  context.turn.ask('runtime.listPods', relistAddress, 'list', { uid: null }, settings.runtimeRequestTimeout);
}

/** Asks for a look at one pod soon. One request a pod is kept: the newest. */
export function requestPodRelist(context: AgentContext, uid: string): void {
  context.state.relist.requests.set(uid, context.turn.now);
  beginLooks(context);
}

/** Begins the looks that wait, as many as may go on at once. */
export function beginLooks(context: AgentContext): void {
  const { state, turn } = context;
  const { relist, pleg } = state;
  for (const [uid, requestedAt] of relist.requests) {
    if (relist.looks.size >= maxLooks) return;
    if (relist.looks.has(uid)) continue;
    relist.requests.delete(uid);
    if (!isPodRelistDue(pleg, requestedAt)) continue;
    relist.looks.set(uid, turn.now);
    turn.ask('runtime.inspectPod', relistAddress, `look/${uid}`, { uid }, state.settings.runtimeRequestTimeout);
  }
}
