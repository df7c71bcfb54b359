// The kubelet of a node as one machine: an agent with the sources of its static pods and, if the node is one of a cluster, with its Node, lease and
// events. One record of inputs contains all that decides anything.
import type { PortOf } from '../../ports/operation.js';
import type { ManifestDirectoryOperations, ManifestUrlOperations } from '../../ports/outbound/manifests.js';
import type { AgentOperations, OutboundOperations, OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import type { NodeFacts } from '../containers/node-facts.js';
import type { Machine } from '../kernel/machine.js';
import type { PodSource } from '../pod-sources/pod-config.js';
import { agentMachine } from './agent.js';
import { type AgentEvent, type AgentState, type AgentSurroundings, newAgentState } from './agent-state.js';
import type { AgentSettings } from './settings.js';

export type KubeletOperations = AgentOperations;

/** The adapters of all of a kubelet's ports. */
export type KubeletPorts = OutboundPorts & {
  readonly manifestDirectory: PortOf<ManifestDirectoryOperations>;
  readonly manifestUrl: PortOf<ManifestUrlOperations>;
};
export type KubeletPortName = keyof OutboundOperations | 'manifestDirectory' | 'manifestUrl';

export interface KubeletSettings extends AgentSurroundings {
  /** Its `sources` follow from the two others, and from whether there is an apiserver. */
  readonly agent: Omit<AgentSettings, 'sources'>;
}

export interface KubeletState {
  readonly agent: AgentState;
}

export type KubeletEvent = AgentEvent;

export function newKubeletState(settings: KubeletSettings, nodeFacts: NodeFacts): KubeletState {
  const sources: PodSource[] = [];
  if (settings.fileSource !== null) sources.push('file');
  if (settings.urlSource !== null) sources.push('http');
  if (settings.agent.apiserver) sources.push('api');
  return { agent: newAgentState({ ...settings.agent, sources }, nodeFacts, settings) };
}

/** Makes the machine for a state; the two belong together for the state's life. */
export function kubeletMachine(state: KubeletState, checksSettled = false): Machine<KubeletState, KubeletEvent, KubeletOperations> {
  const agent = agentMachine(state.agent, checksSettled);
  return { step: (_given, input, turn) => agent.step(state.agent, input, turn) };
}
