// No container starts before its pod's claims are prepared by their drivers, and no claim is unprepared while a container with it runs.
import type { AgentState } from '../../domain/agent/agent-state.js';
import { usedClaims } from '../../domain/dra-manager/pod-claims.js';
import type { ResourceClaim } from '../../ports/model/resource-claim.js';
import { objectKey } from '../apiserver/object-store.js';
import type { CheckedNode, Checker } from './checker.js';

export const claimsOutliveContainers: Checker<null> = {
  name: 'claims-outlive-containers',
  fresh: () => null,
  look(_memory, what, node, report) {
    if (what.kind !== 'command') return;
    const { command } = what;
    if (command.op === 'containers.start') {
      const container = node.runtime.containers.get(command.request.containerId);
      const missing = container === undefined ? [] : unprepared(node, container.podUid);
      if (container !== undefined && missing.length > 0) report(`container ${container.id} of pod ${container.podUid} starts, whose claims ${missing.join()} are not prepared`);
    } else if (command.op === 'draPlugin.unprepare') {
      const taken = new Set(command.request.claims.map(({ uid }) => uid));
      for (const { id, podUid, state } of node.runtime.containers.values()) {
        if (state === 'running' && claimsOf(node, podUid).some(({ metadata }) => taken.has(metadata.uid ?? '')))
          report(`a claim of pod ${podUid} is taken down, whose container ${id} runs`);
      }
    }
  },
};

function unprepared(node: CheckedNode, podUid: string): string[] {
  const isPrepared = ({ metadata, status }: ResourceClaim): boolean =>
    (status?.allocation?.devices?.results ?? []).every(({ driver }) => node.host.draClaims.get(driver)?.has(metadata.uid ?? '') === true);
  return claimsOf(node, podUid).flatMap((claim) => (isPrepared(claim) ? [] : [claim.metadata.name]));
}

function claimsOf({ agent, apiserver }: CheckedNode, podUid: string): ResourceClaim[] {
  const pod = podOf(agent, podUid);
  const used = pod === undefined ? null : usedClaims(pod);
  if (pod === undefined || used?.ok !== true) return [];
  return used.value.flatMap(
    ({ name }) => (apiserver?.store.get('resourceclaims.resource.k8s.io', objectKey(pod.metadata.namespace ?? '', name)) as unknown as ResourceClaim | null) ?? [],
  );
}

function podOf({ pods, workers }: AgentState, podUid: string) {
  const record = workers.records.get(podUid);
  return pods.pods.get(podUid) ?? (record?.active ?? record?.run?.update ?? record?.pending)?.pod ?? undefined;
}
