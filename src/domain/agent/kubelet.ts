// The kubelet of a standalone node as one machine: the agent, and the two sources of its static pods. A source's pods are
// an event of the agent within the same step, so that one record of inputs contains all that decides anything.
//
// | input                             | goes to                                                     |
// |-----------------------------------|-------------------------------------------------------------|
// | `start`                           | the agent, both sources                                     |
// | `manifests-changed`               | the file source                                             |
// | `withdraw-pods`                   | the agent, as a source without pods; permanently            |
// | answers and wake-ups of a source  | that source                                                 |
// | answers and wake-ups of the node, | the node in its cluster, if it has one                      |
// | its lease and its events          |                                                             |
// | everything else                   | the agent                                                   |

import type { Pod } from '../../ports/model/pod.js';
import type { PortOf } from '../../ports/operation.js';
import type { ManifestDirectoryOperations, ManifestOperations, ManifestsChanged, ManifestUrlOperations } from '../../ports/outbound/manifests.js';
import type { AgentOperations, OutboundOperations, OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import type { NodeFacts } from '../containers/node-facts.js';
import type { Machine, Reply, Turn, Wake } from '../kernel/machine.js';
import type { NodeSettings } from '../node-status/node-settings.js';
import { type FileSourceSettings, type FileSourceState, fileSourceAddress, fileSourceReplied, manifestsChanged, newFileSource, runFileSource } from '../pod-sources/file-source.js';
import type { PodSource } from '../pod-sources/pod-config.js';
import { newUrlSource, runUrlSource, type UrlSourceSettings, type UrlSourceState, urlSourceAddress, urlSourceReplied } from '../pod-sources/url-source.js';
import { type AgentInput, agentMachine } from './agent.js';
import { type AgentEvent, type AgentState, newAgentState } from './agent-state.js';
import { Cluster, type ClusterState, newClusterState } from './cluster.js';
import type { AgentSettings } from './settings.js';

export type KubeletOperations = AgentOperations & ManifestOperations;

/** The adapters of all of a kubelet's ports. */
export type KubeletPorts = OutboundPorts & {
  readonly manifestDirectory: PortOf<ManifestDirectoryOperations>;
  readonly manifestUrl: PortOf<ManifestUrlOperations>;
};
export type KubeletPortName = keyof OutboundOperations | 'manifestDirectory' | 'manifestUrl';

export interface KubeletSettings {
  /** Its `sources` follow from the two below, and from whether there is an apiserver. */
  readonly agent: Omit<AgentSettings, 'sources'>;
  /** null: the node is not one of a cluster. */
  readonly node: NodeSettings | null;
  /** null: no manifest path. */
  readonly fileSource: FileSourceSettings | null;
  /** null: no manifest URL. */
  readonly urlSource: UrlSourceSettings | null;
}

export interface KubeletState {
  readonly agent: AgentState;
  /** null: the node is not one of a cluster. */
  readonly cluster: ClusterState | null;
  readonly fileSource: FileSourceState | null;
  readonly urlSource: UrlSourceState | null;
  /** Every pod must end: the sources no longer count. */
  withdrawn: boolean;
}

export type KubeletEvent = AgentEvent | ManifestsChanged | { readonly type: 'withdraw-pods' };

export function newKubeletState(settings: KubeletSettings, nodeFacts: NodeFacts): KubeletState {
  const sources: PodSource[] = [];
  if (settings.fileSource !== null) sources.push('file');
  if (settings.urlSource !== null) sources.push('http');
  if (settings.agent.apiserver) sources.push('api');
  return {
    agent: newAgentState({ ...settings.agent, sources }, nodeFacts),
    cluster: settings.node === null ? null : newClusterState(settings.node),
    fileSource: settings.fileSource === null ? null : newFileSource(settings.fileSource),
    urlSource: settings.urlSource === null ? null : newUrlSource(settings.urlSource),
    withdrawn: false,
  };
}

type KubeletInput = KubeletEvent | Reply<KubeletOperations> | Wake;

/** Makes the machine for a state; the two belong together for the state's life. */
export function kubeletMachine(state: KubeletState): Machine<KubeletState, KubeletEvent, KubeletOperations> {
  const agent = agentMachine(state.agent);
  return {
    step(_given: KubeletState, input: KubeletInput, turn: Turn<KubeletOperations>): void {
      const outer = turn as Turn<AgentOperations>;
      const toAgent = (event: AgentInput): void => agent.step(state.agent, withOverlay(state, event), cluster?.turn ?? outer);
      const cluster = state.cluster === null ? null : new Cluster(state.cluster, state.agent, outer, toAgent);
      const sources = new Sources(state, turn as Turn<ManifestOperations>, toAgent);
      if (input.type === 'withdraw-pods') {
        sources.withdraw();
        return;
      }
      const isReplyOrWake = input.type === 'reply' || input.type === 'wake';
      const isTaken = sources.take(input) || (isReplyOrWake && cluster?.take(input as Reply<AgentOperations> | Wake) === true);
      if (!isTaken) toAgent(input as AgentInput);
      if (input.type === 'start') {
        cluster?.start();
        sources.run();
      }
      cluster?.end();
    },
  };
}

/** The host's addresses and resources apply until the Node has its own. */
function withOverlay({ cluster }: KubeletState, event: AgentInput): AgentInput {
  return event.type === 'nodeFacts' && cluster?.overlay != null ? { ...event, facts: { ...event.facts, ...cluster.overlay } } : event;
}

/** The two sources during one step. */
class Sources {
  constructor(
    private readonly state: KubeletState,
    private readonly turn: Turn<ManifestOperations>,
    private readonly toAgent: (event: AgentEvent) => void,
  ) {}

  run(): void {
    const { fileSource, urlSource } = this.state;
    if (fileSource !== null) runFileSource(fileSource, this.context('file'));
    if (urlSource !== null) runUrlSource(urlSource, this.context('http'));
  }

  withdraw(): void {
    this.state.withdrawn = true;
    if (this.state.fileSource !== null) this.emit('file', []);
    if (this.state.urlSource !== null) this.emit('http', []);
    if (this.state.agent.api !== null) this.emit('api', []);
  }

  /** False: the input is no source's. */
  take(input: KubeletInput): boolean {
    const { fileSource, urlSource } = this.state;
    if (input.type === 'manifests-changed') {
      if (fileSource !== null) manifestsChanged(fileSource, input.events, this.context('file'));
      return true;
    }
    if (input.type !== 'reply' && input.type !== 'wake') return false;
    if (fileSource !== null && input.address.machine === fileSourceAddress.machine) {
      if (input.type === 'wake') runFileSource(fileSource, this.context('file'));
      else fileSourceReplied(fileSource, input as Reply<ManifestOperations>, this.context('file'));
      return true;
    }
    if (urlSource !== null && input.address.machine === urlSourceAddress.machine) {
      if (input.type === 'wake') runUrlSource(urlSource, this.context('http'));
      else if (input.op === 'manifestUrl.fetch') urlSourceReplied(urlSource, input.outcome, this.context('http'));
      return true;
    }
    return false;
  }

  private context(source: PodSource) {
    return { turn: this.turn, emit: (pods: readonly Pod[]) => this.emit(source, pods) };
  }

  private emit(source: PodSource, pods: readonly Pod[]): void {
    this.toAgent({ type: 'podSet', source, pods: this.state.withdrawn ? [] : pods });
  }
}
