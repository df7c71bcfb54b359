// The node's membership of a cluster, besides its pods: its Node, its lease and its events. Separate machines, stepped after the agent
// within the same step, so that their reports are never older than the agent's state.
//
// The agent emits events by `events.record`: the turn passes each event to the log as
// always, and to this cluster's recorder. So no part of the agent depends on the API, and events keep the order of the steps.

import type { Instant } from '../../ports/instant.js';
import type { Node } from '../../ports/model/node.js';
import type { ObjectReference } from '../../ports/model/object-meta.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type EventRecorder, type EventWriting, eventReplied, eventsAddress, eventsWoken, newEventRecorder, recordEvent } from '../events/event-recorder.js';
import type { Address, Command, CommandFor, LogFields, LogLevel, Reply, Turn, Wake } from '../kernel/machine.js';
import { type LeaseKeeper, type LeaseOperations, leaseAddress, leaseReplied, leaseWanted, leaseWoken, newLeaseKeeper, renewLease } from '../lease/lease-keeper.js';
import { lookAtReadiness, type NodeContext, type NodeOperations, nodeAddress, reporterReplied, reporterWoken, startReporter } from '../node-status/node-reporter.js';
import { type NodeReporter, newNodeReporter } from '../node-status/node-reporter-state.js';
import type { NodeSettings } from '../node-status/node-settings.js';
import type { AgentEvent, AgentState } from './agent-state.js';
import { ownNode, watchedNode } from './api-state.js';
import { type NodeOverlay, nodeView, overlayOf } from './node-view.js';

export interface ClusterState {
  readonly reporter: NodeReporter;
  readonly lease: LeaseKeeper;
  readonly events: EventRecorder;
  /** null: the Node is not known yet. */
  overlay: NodeOverlay | null;
}

export function newClusterState(settings: NodeSettings): ClusterState {
  const { nodeName, leaseDurationSeconds, updateFrequency } = settings;
  return {
    reporter: newNodeReporter(settings),
    lease: newLeaseKeeper(nodeName, leaseDurationSeconds, updateFrequency),
    events: newEventRecorder(nodeName),
    overlay: null,
  };
}

/** The cluster's part of one step. */
export class Cluster {
  /** The agent's turn of this step. */
  readonly turn: Turn<AgentOperations>;

  constructor(
    private readonly state: ClusterState,
    private readonly agent: AgentState,
    private readonly outer: Turn<AgentOperations>,
    private readonly toAgent: (event: AgentEvent) => void,
  ) {
    this.turn = new RecordingTurn(outer, (record) => this.record(record));
  }

  start(): void {
    const { nodeName } = this.state.reporter.settings;
    this.nodeEvent({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' }, nodeName);
    startReporter(this.state.reporter, this.context());
    renewLease(this.state.lease, this.nodeUid(), this.outer as unknown as Turn<LeaseOperations>);
  }

  /** False: the input belongs to another part. */
  take(input: Reply<AgentOperations> | Wake): boolean {
    const { reporter, lease, events } = this.state;
    const isWake = input.type === 'wake';
    switch (input.address.machine) {
      case nodeAddress.machine:
        if (isWake) reporterWoken(reporter, this.context());
        else reporterReplied(reporter, input as unknown as Reply<NodeOperations>, this.context());
        return true;
      case leaseAddress.machine: {
        const turn = this.outer as unknown as Turn<LeaseOperations>;
        if (isWake) leaseWoken(lease, this.nodeUid(), turn);
        else leaseReplied(lease, input as unknown as Reply<LeaseOperations>, turn);
        return true;
      }
      case eventsAddress.machine: {
        const turn = this.outer as unknown as Turn<EventWriting>;
        if (isWake) eventsWoken(events, turn);
        else eventReplied(events, input as unknown as Reply<EventWriting>, turn);
        return true;
      }
      default:
        return false;
    }
  }

  /** Runs at the end of each step. */
  end(): void {
    const { overlay } = this.state;
    const node = overlay === null ? ownNode(this.agent.api) : null;
    // An existing Node's addresses count from the start: otherwise pods reported before the first node status would have different ones.
    if ((node?.status?.addresses ?? []).length > 0) this.overlayBy(node as Node);
    lookAtReadiness(this.state.reporter, this.context());
  }

  private context(): NodeContext {
    return {
      turn: this.outer as unknown as Turn<NodeOperations>,
      view: () => nodeView(this.agent, this.outer.now),
      shuttingDown: this.agent.shutdown.manager.shuttingDown,
      watched: () => watchedNode(this.agent.api),
      event: (event) => this.nodeEvent(event, this.state.reporter.settings.nodeName),
      known: (node) => this.known(node),
      expected: (node) => this.expected(node),
    };
  }

  private known(node: Node): void {
    const uid = node.metadata.uid ?? '';
    if (uid !== '') leaseWanted(this.state.lease, uid, this.outer as unknown as Turn<LeaseOperations>);
    this.overlayBy(node);
  }

  /** The next look at the node expects it again, if these are replaced until then. */
  private expected(node: Node): void {
    if (this.state.overlay !== null) return;
    const { nodeAddresses, allocatable } = this.agent.nodeFacts;
    const now: NodeOverlay = { nodeAddresses: nodeAddresses ?? [], allocatable: allocatable as NodeOverlay['allocatable'] };
    const expected = overlayOf(now, node);
    if (expected !== now) this.toAgent({ type: 'nodeFacts', facts: { ...this.agent.nodeFacts, ...expected } });
  }

  private overlayBy(node: Node): void {
    const overlay = overlayOf(this.state.overlay, node);
    if (overlay === this.state.overlay) return;
    this.state.overlay = overlay;
    this.toAgent({ type: 'nodeFacts', facts: { ...this.agent.nodeFacts, ...overlay } });
  }

  private nodeEvent(event: Omit<EventRecord, 'involvedObject'>, name: string): void {
    this.turn.tell('events.record', { ...event, involvedObject: { apiVersion: 'v1', kind: 'Node', name } });
  }

  private record(record: EventRecord): void {
    const involvedObject = this.reference(record.involvedObject);
    recordEvent(this.state.events, { ...record, involvedObject }, this.outer as unknown as Turn<EventWriting>);
  }

  /** `kubectl describe node` finds a Node's events by its uid; before that is known they have none. */
  private reference(object: ObjectReference): ObjectReference {
    const { nodeName } = this.state.reporter.settings;
    if (object.kind !== 'Node' || object.name !== nodeName) return object;
    const uid = this.nodeUid();
    return { apiVersion: 'v1', kind: 'Node', name: nodeName, ...(uid === null ? {} : { uid }) };
  }

  private nodeUid(): string | null {
    return this.state.reporter.answered?.metadata.uid ?? ownNode(this.agent.api)?.metadata.uid ?? null;
  }
}

/** A turn that hands events on to a second receiver. */
class RecordingTurn implements Turn<AgentOperations> {
  constructor(
    private readonly turn: Turn<AgentOperations>,
    private readonly record: (record: EventRecord) => void,
  ) {}

  get now(): number {
    return this.turn.now;
  }

  get wall(): Instant {
    return this.turn.wall;
  }

  ask<Name extends keyof AgentOperations>(op: Name, address: Address, slot: string, request: CommandFor<AgentOperations, Name>['request'], timeoutMicros?: number | null): void {
    this.turn.ask(op, address, slot, request, timeoutMicros);
  }

  tell<Name extends keyof AgentOperations>(op: Name, request: CommandFor<AgentOperations, Name>['request']): void {
    this.turn.tell(op, request);
    if (op === 'events.record') this.record(request as Extract<Command<AgentOperations>, { readonly op: 'events.record' }>['request']);
  }

  cancel(address: Address, slot: string): void {
    this.turn.cancel(address, slot);
  }

  inFlight(address: Address, slot: string): boolean {
    return this.turn.inFlight(address, slot);
  }

  wakeAt(address: Address, at: number | null): void {
    this.turn.wakeAt(address, at);
  }

  random(purpose: string, key: string): number {
    return this.turn.random(purpose, key);
  }

  end(address: Address): void {
    this.turn.end(address);
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    this.turn.log(level, message, fields);
  }
}
