// Answers queries from the agent's state: its pods with their newest statuses, and its health.

import { type AgentQueries, type HealthCheck, podList } from '../../ports/inbound/agent-queries.js';
import type { Pod } from '../../ports/model/pod.js';
import type { AgentState } from '../agent/agent-state.js';
import { podAndMirror } from '../agent/pod-manager/pod-index.js';
import { isAside } from '../agent/set-aside/aside-pods.js';
import { setAsideMessage } from '../agent/set-aside/set-aside.js';
import { setAsideAnnotation } from '../agent/set-aside/set-aside-state.js';
import { podFullName } from '../values/pod-references.js';
import type { LoopHealth } from './loop-health.js';

export function agentQueries(state: AgentState, health: LoopHealth, logFailure: () => string | null): AgentQueries {
  return {
    pods() {
      const pods = [...state.pods.pods.values()];
      // Pods that are set aside may be missing among the agent's pods.
      for (const { uid, pod } of state.setAside.pods.values()) if (pod !== null && !state.pods.pods.has(uid)) pods.push(pod);
      return podList(pods.map((pod) => withSetAside(state, withStatus(state, asAsked(state, pod)))));
    },
    pod(namespace, name) {
      const pod = state.pods.podsByFullName.get(podFullName(name, namespace));
      return pod === undefined ? null : withSetAside(state, withStatus(state, asAsked(state, pod)));
    },
    isContainerRunning(podUid, containerId) {
      const cached = state.cache.entries.get(podUid)?.cached;
      return cached?.kind === 'status' && cached.status.containers.some(({ id, state: runs }) => id === containerId && runs === 'running');
    },
    health: () => [{ name: 'ping', failure: null }, { name: 'log', failure: logFailure() }, health.syncloop(), deviceRegistration],
  };
}

/** Fails if the socket for device plugins can't be served; none is served, so nothing has failed: clients of this check still get it. */
const deviceRegistration: HealthCheck = { name: 'device-plugin', failure: null };

/** Shows the requested resources of a pod, not the allocated ones. */
function asAsked({ allocation }: AgentState, pod: Pod): Pod {
  return allocation.desired.get(pod.metadata.uid ?? '') ?? pod;
}

function withStatus(state: AgentState, pod: Pod): Pod {
  const status = state.statuses.get(pod.metadata.uid ?? '')?.status ?? pod.status;
  return status === undefined ? pod : { ...pod, status };
}

/** Annotates a pod that is set aside. */
function withSetAside(state: AgentState, pod: Pod): Pod {
  const aside = state.setAside.pods.get(pod.metadata.uid ?? '');
  if (aside === undefined || !isAside(state, aside.uid)) return pod;
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [setAsideAnnotation]: setAsideMessage(aside) } } };
}

/** UIDs that the API knows a static pod by. */
export function mirrorUids(state: AgentState, pod: Pod): string[] {
  const { mirror } = podAndMirror(state.pods, pod);
  return mirror?.metadata.uid === undefined ? [] : [mirror.metadata.uid];
}
