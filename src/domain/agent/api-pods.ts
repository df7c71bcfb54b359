// The node's pods in the API as a source of pods: what changed there goes to the pod config, at the cost of what changed.
import type { Pod } from '../../ports/model/pod.js';
import type { ObjectChange, ReflectorState } from '../api-cache/reflector.js';
import { mergeChanges } from '../pod-sources/pod-config.js';
import type { AgentContext } from './agent-context.js';
import { deliver } from './sync-loop.js';

export function apiPodsChanged(context: AgentContext, _reflector: ReflectorState, changes: readonly ObjectChange[]): void {
  const { state, turn } = context;
  const pods = changes.map(({ type, object }) => ({ type, pod: object as Pod }));
  deliver(context, mergeChanges(state.config, 'api', pods, turn.now).deliveries);
}
