// The API collections of which the agent keeps copies, and the parts to notify of changes. A reflector is named by its owner,
// with `:` and its subject if an owner has several (`secrets:default/token`).
//
// Invariant: the node's own pods are read only after its Node has been read, so that admission never lacks an existing node.
import type { ApiSelection } from '../../../ports/model/api-object.js';
import type { ApiWatchEvents } from '../../../ports/outbound/apiserver.js';
import {
  newReflector,
  type ReflectorContext,
  type ReflectorOperations,
  type ReflectorState,
  reflectorOfWatch,
  reflectorReplied,
  reflectorSaw,
  reflectorWoken,
  runReflector,
  stopReflector,
} from '../../api-cache/reflector.js';
import type { Turn } from '../../kernel/machine.js';
import type { AgentContext } from '../agent-context.js';
import type { AnswerOf } from '../part.js';
import { asReflectors, type ReflectorsContext } from './slice.js';
import { reportUnusable } from './unusable-objects.js';

const core = (plural: string) => ({ group: '', version: 'v1', plural });

/** Starts the permanent watches of an agent with an apiserver. */
export function beginApiObjects(context: ReflectorsContext): void {
  const { api, settings } = context.state;
  if (api === null) return;
  watchObjects(context, 'node', { resource: core('nodes'), namespace: null, fieldSelector: `metadata.name=${settings.nodeName}`, labelSelector: null });
  const runtimeClasses = { group: 'node.k8s.io', version: 'v1', plural: 'runtimeclasses' };
  watchObjects(context, 'runtimeclasses', { resource: runtimeClasses, namespace: null, fieldSelector: null, labelSelector: null });
  watchObjects(context, 'services', { resource: core('services'), namespace: null, fieldSelector: null, labelSelector: null });
}

/** Keeps a copy of these objects from now on; with `newest` no list of a cache that is behind is taken. Idempotent. Not without an apiserver. */
export function watchObjects(caller: AgentContext, name: string, selection: ApiSelection, newest = false): void {
  const context = asReflectors(caller);
  const { api } = context.state;
  if (api === null) return;
  const known = api.reflectors.get(name);
  const reflector = known ?? newReflector(name, selection, newest);
  if (known === undefined) api.reflectors.set(name, reflector);
  runReflector(reflector, contextOf(context, reflector));
}

/** Gives up the copy. */
export function unwatchObjects(caller: AgentContext, name: string): void {
  const context = asReflectors(caller);
  const reflector = context.state.api?.reflectors.get(name);
  if (reflector === undefined) return;
  stopReflector(reflector, contextOf(context, reflector));
  context.state.api?.reflectors.delete(name);
}

export function watchDelivered(context: ReflectorsContext, { watch, events }: ApiWatchEvents): void {
  const reflector = context.state.api?.reflectors.get(reflectorOfWatch(watch));
  if (reflector !== undefined) reflectorSaw(reflector, watch, events, contextOf(context, reflector));
}

export function apiReplied(context: ReflectorsContext, name: string, answer: AnswerOf<'apiReader.list' | 'apiReader.watch'>): void {
  const reflector = context.state.api?.reflectors.get(name);
  if (reflector !== undefined) reflectorReplied(reflector, answer, contextOf(context, reflector));
}

export function apiWoken(context: ReflectorsContext, name: string): void {
  const reflector = context.state.api?.reflectors.get(name);
  if (reflector !== undefined) reflectorWoken(reflector, contextOf(context, reflector));
}

function contextOf(context: ReflectorsContext, reflector: ReflectorState): ReflectorContext {
  return {
    turn: context.turn as unknown as Turn<ReflectorOperations>,
    changed: (changes, replaced) => context.apiParts.changed(context, reflector, changes, replaced),
    unusable: (object) => reportUnusable(context, reflector, object),
  };
}
