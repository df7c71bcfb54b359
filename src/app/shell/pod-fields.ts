// Adds a pod's name to log fields with its uid, as in the Go kubelet, for users and log collectors: pod="namespace/name".
// Invariant: never replaces an existing field; adds none for an unknown pod.
import type { AgentState } from '../../domain/agent/agent-state.js';
import type { LogFields } from '../../ports/outbound/logger.js';

export function withPod(state: Pick<AgentState, 'pods' | 'workers'>, fields: LogFields | undefined): LogFields | undefined {
  const uid = fields?.podUID;
  if (typeof uid !== 'string' || fields?.pod !== undefined) return fields;
  const pod = state.pods.pods.get(uid)?.metadata;
  if (pod !== undefined) return { pod: `${pod.namespace}/${pod.name}`, ...fields };
  // A terminating pod may be in no source any more. A name has no underscore.
  const [name = '', namespace = ''] = state.workers.records.get(uid)?.fullName.split('_') ?? [];
  return namespace === '' ? fields : { pod: `${namespace}/${name}`, ...fields };
}
