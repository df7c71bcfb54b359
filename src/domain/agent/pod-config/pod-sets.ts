// The sets of pods of the sources, and their deliveries.
import type { FileSourceContext } from '../../pod-sources/file-source.js';
import { mergeSet, type PodSource } from '../../pod-sources/pod-config.js';
import type { UrlSourceContext } from '../../pod-sources/url-source.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentEvent } from '../agent-state.js';
import { deliver } from '../sync-loop/sync-loop.js';
import { adopted, releasedSets } from './adopted-pods.js';
import { asPodConfig, type PodConfigContext } from './slice.js';

export function takePodSet(context: PodConfigContext, { source, pods }: Pick<Extract<AgentEvent, { type: 'podSet' }>, 'source' | 'pods'>): void {
  // An API source sends changes; an empty set withdraws its pods.
  if (source === 'api' && context.state.api !== null) context.state.api.withdrawn = true;
  const run = adopted(context, source, pods);
  if (run === null) return;
  const { deliveries, events } = mergeSet(context.state.config, source, run, context.turn.wall);
  for (const event of events) context.turn.emit('events.record', event);
  deliver(context, deliveries);
}

export function withdrawPods(context: PodConfigContext): void {
  const { state } = context;
  state.withdrawn = true;
  if (state.fileSource !== null) takePodSet(context, { source: 'file', pods: [] });
  if (state.urlSource !== null) takePodSet(context, { source: 'http', pods: [] });
  if (state.api !== null) takePodSet(context, { source: 'api', pods: [] });
}

/** Sets that waited until it was known what runs. */
export function deliverReleasedSets(caller: AgentContext): void {
  const context = asPodConfig(caller);
  for (const [source, pods] of releasedSets(context)) takePodSet(context, { source, pods });
}

/** The interface of the agent to one of its sources. */
export function sourceContext(caller: AgentContext, source: PodSource): FileSourceContext & UrlSourceContext {
  const context = asPodConfig(caller);
  return { turn: context.turn, emit: (pods) => takePodSet(context, { source, pods: context.state.withdrawn ? [] : pods }) };
}
