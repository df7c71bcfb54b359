// What is told of a pod by its uid has its name beside it, so that people and log collectors find it as with the reference: pod="namespace/name".
// Invariant: a field that a line has is never replaced, and a pod that nobody knows any more adds none.
import type { AgentState } from '../../domain/agent/agent-state.js';
import type { LogFields } from '../../ports/outbound/logger.js';

export function withPod(state: Pick<AgentState, 'pods' | 'workers'>, fields: LogFields | undefined): LogFields | undefined {
  const uid = fields?.podUID;
  if (typeof uid !== 'string' || fields?.pod !== undefined) return fields;
  const pod = state.pods.pods.get(uid)?.metadata;
  if (pod !== undefined) return { pod: `${pod.namespace}/${pod.name}`, ...fields };
  // One that is being taken down may be in no source any more. A name has no underscore.
  const [name = '', namespace = ''] = state.workers.records.get(uid)?.fullName.split('_') ?? [];
  return namespace === '' ? fields : { pod: `${namespace}/${name}`, ...fields };
}
