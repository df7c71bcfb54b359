// The runtime's features and the handlers of RuntimeClass objects: part of the facts that configure sandboxes and containers.
// Invariant: facts read from the host never overwrite those of the API and the runtime.
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { ReflectorState } from '../../api-cache/reflector.js';
import type { NodeFacts } from '../../containers/node-facts.js';
import { canonicalJson } from '../../kernel/canonical.js';
import type { View } from '../../kernel/view.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import { replaceRuntimeFacts } from '../node-facts/requests.js';
import { syncPods } from '../sync-loop/sync-loop.js';
import type { RuntimeStateContext } from './slice.js';

type RuntimeFacts = Pick<NodeFacts, 'runtimeClasses' | 'runtimeHandlers'>;

/** The facts of the host with those of runtime and API; the latter only where they are known. */
export function withRuntimeFacts(state: AgentView, facts: NodeFacts): NodeFacts {
  const { handlers, lastGood } = state.readiness;
  const classes = state.api?.reflectors.get('runtimeclasses');
  return { ...facts, ...(lastGood === null ? {} : { runtimeHandlers: handlers }), ...(classes?.synced === true ? { runtimeClasses: classesOf(classes) } : {}) };
}

/** The runtime has reported its handlers; without handlers it has no features, even if the previous runtime had. */
export function runtimeHandlersChanged({ state }: RuntimeStateContext): void {
  const { handlers } = state.readiness;
  take(state, { runtimeHandlers: handlers, runtimeClasses: state.nodeFacts.runtimeClasses });
}

/** Pods that name a class may have waited for it. */
export function runtimeClassesChanged(context: AgentContext, reflector: ReflectorState): void {
  const { state } = context;
  if (!take(state, { runtimeHandlers: state.nodeFacts.runtimeHandlers, runtimeClasses: classesOf(reflector) })) return;
  const waiting = [...state.pods.pods].filter(([, { spec }]) => (spec.runtimeClassName ?? '') !== '');
  syncPods(
    context,
    waiting.map(([uid]) => uid),
  );
}

/** Whether anything of it is new. */
function take(state: AgentView, facts: RuntimeFacts): boolean {
  const { runtimeClasses, runtimeHandlers } = state.nodeFacts;
  if (canonicalJson({ runtimeClasses, runtimeHandlers }) === canonicalJson(facts)) return false;
  replaceRuntimeFacts(state, facts);
  return true;
}

function classesOf({ objects }: View<ReflectorState>): Readonly<Record<string, string>> {
  const handlerOf = (object: ApiObject): string => (object as { readonly handler?: string }).handler ?? '';
  return Object.fromEntries([...objects.values()].map((object) => [object.metadata.name, handlerOf(object)]));
}
