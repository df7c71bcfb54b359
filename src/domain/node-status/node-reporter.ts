// Registers the node in the API and keeps its status current. A cycle reads the machine, registers the node if needed,
// and reports changes.
//
// | phase                | in flight                 | what ends it                                                              |
// |----------------------|---------------------------|---------------------------------------------------------------------------|
// | resting              | nothing                   | time, the node becoming ready for the first time, its shutdown: looking   |
// | looking              | machine, addresses, images| the last answer: registration or a report                                 |
// | holding-registration | nothing                   | time: registering                                                         |
// | registering          | create, get or patch      | registered: a report; refused: holding                                    |
// | reading, patching    | get, patch                | done: resting; failed: reading again, up to five tries; deleted: registering |
// | pausing              | nothing                   | the server's retry delay: the refused call is repeated                    |
//
// Invariants: one call is in flight at a time; a starting agent does not report a ready node as not ready before its first
// checks; events are recorded only after the status is written. A Node that is deleted under a running agent is registered again.

import type { Micros } from '../../ports/micros.js';
import type { ApiObject, ApiResource } from '../../ports/model/api-object.js';
import type { Node } from '../../ports/model/node.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiReaderOperations, ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { ImageOperations, RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';
import type { MachineOperations } from '../../ports/outbound/machine.js';
import type { PortFailure } from '../../ports/port-error.js';
import { answeredObject, typedObject } from '../api-data/typed-object.js';
import { assert } from '../kernel/assert.js';
import type { Address, ReplyTo, Turn } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import type { NodeEvent } from './node-event.js';
import { factsOf, isReady, type NodeView, nameToResolve } from './node-facts-of.js';
import { nodeStatusChanged, nodeStatusPatch } from './node-patch.js';
import type { NodeReporter } from './node-reporter-state.js';
import { type NodeUpdate, newNodeStatusMemory, updatedNode } from './node-status.js';
import {
  existingNodePatched,
  existingNodeRead,
  initialNode,
  nodeCreated,
  type RegistrationCall,
  type RegistrationReply,
  type RegistrationStep,
  registrationFailures,
  registrationWait,
} from './registration.js';
import { nextStatusUpdateAt, type ReportStep, reportFailed, startReport, statusComputed, statusSent } from './status-report.js';

export type NodeOperations = Flattened<{
  readonly apiReader: ApiReaderOperations;
  readonly apiWriter: ApiWriterOperations;
  readonly machine: MachineOperations;
  readonly images: ImageOperations;
  readonly runtime: RuntimeStateOperations;
}>;

/** The copy that is watched. */
export interface WatchedNode {
  /** null: absent, or not read yet. */
  readonly node: Node | null;
  /** The version up to which it is known to be absent; null: unknown. */
  readonly absentUpTo: number | null;
}

export interface NodeContext {
  readonly turn: Turn<NodeOperations>;
  view(): NodeView;
  /** From the view. */
  readonly shuttingDown: boolean;
  watched(): WatchedNode;
  event(event: NodeEvent): void;
  /** The current Node. */
  known(node: Node): void;
  /** The Node as it will be registered, while none is known. */
  expected(node: Node): void;
}

export const nodeAddress: Address = { machine: 'node', key: '' };
const nodes: ApiResource = { group: '', version: 'v1', plural: 'nodes' };
const imagesMaxAge: Micros = 30 * microsPerSecond;
/** From the start; equal to the time after which a silent runtime counts as down. */
const startGrace: Micros = 30 * microsPerSecond;
const startLimit: Micros = 120 * microsPerSecond;
const lookTimeout: Micros = 10 * microsPerSecond;

export function startReporter(reporter: NodeReporter, context: NodeContext): void {
  reporter.startedAt = context.turn.now;
  beginCycle(reporter, context);
}

/** After each step of the agent: reports the first readiness, and the node's shutdown, without delay. */
export function lookAtReadiness(reporter: NodeReporter, context: NodeContext): void {
  if (context.shuttingDown !== reporter.shuttingDown && reporter.phase === 'resting') beginCycle(reporter, context);
  if (!reporter.starting) return;
  const { now } = context.turn;
  if (now - reporter.startedAt >= startLimit) {
    reporter.starting = false;
    context.turn.log('error', 'Node not becoming ready in time after startup');
  } else if (reporter.phase === 'resting' && reporter.registered && isReady(context.view())) {
    reporter.starting = false;
    beginCycle(reporter, context);
  }
}

export function reporterWoken(reporter: NodeReporter, context: NodeContext): void {
  if (reporter.phase === 'resting') beginCycle(reporter, context);
  else if (reporter.phase === 'holding-registration') create(reporter, context);
  else if (reporter.phase === 'pausing') act(reporter, { kind: 'compute', source: 'api' }, context);
}

export const reporterOperations = ['machine.read', 'machine.addresses', 'images.list', 'runtime.updateConfig', 'apiReader.get', 'apiWriter.create', 'apiWriter.patch'] as const;
export type ReporterReply = ReplyTo<NodeOperations, (typeof reporterOperations)[number]>;
type NodeReply = ReplyTo<NodeOperations, 'apiReader.get' | 'apiWriter.create' | 'apiWriter.patch'>;

export function reporterReplied(reporter: NodeReporter, reply: ReporterReply, context: NodeContext): void {
  switch (reply.op) {
    case 'machine.read':
      if (reply.outcome.ok) reporter.machine = reply.outcome.value;
      break;
    case 'machine.addresses':
      if (reply.outcome.ok) reporter.addresses = reply.outcome.value;
      break;
    case 'images.list':
      if (!reply.outcome.ok) break;
      reporter.images = reply.outcome.value;
      reporter.imagesListedAt = context.turn.now;
      break;
    case 'runtime.updateConfig':
      cidrUpdated(reporter, reply, context);
      return;
    default:
      answered(reporter, reply, context);
      return;
  }
  if (!reply.outcome.ok) context.turn.log('error', 'Failed to look at the node', { what: reply.slot, err: reply.outcome.error.message });
  looked(reporter, context);
}

function beginCycle(reporter: NodeReporter, context: NodeContext): void {
  const { turn } = context;
  reporter.phase = 'looking';
  reporter.shuttingDown = context.shuttingDown;
  turn.wakeAt(nodeAddress, null);
  if (reporter.machine === null) turn.ask('machine.read', nodeAddress, 'machine', null, lookTimeout);
  turn.ask('machine.addresses', nodeAddress, 'addresses', { resolve: nameToResolve(reporter.settings) }, lookTimeout);
  const isStale = reporter.imagesListedAt === null || turn.now - reporter.imagesListedAt >= imagesMaxAge;
  if (isStale && context.view().runtimeProblems.length === 0) turn.ask('images.list', nodeAddress, 'images', null, lookTimeout);
}

function looked(reporter: NodeReporter, context: NodeContext): void {
  const { turn } = context;
  if (reporter.phase !== 'looking' || ['machine', 'addresses', 'images'].some((slot) => turn.inFlight(nodeAddress, slot))) return;
  // Without the machine's facts a node would report no resources.
  if (reporter.machine !== null && newest(reporter, context) === null) context.expected(expectedNode(reporter, context));
  if (reporter.machine === null) rest(reporter, context);
  else if (!reporter.registered && reporter.settings.registerNode) holdRegistration(reporter, context);
  else report(reporter, context);
}

/** Static pods may start before the apiserver answers: they have the node's addresses and resources from here. */
function expectedNode(reporter: NodeReporter, context: NodeContext): Node {
  return updatedNode(initialNode(reporter.settings, {}), factsOf(reporter, context.view()), newNodeStatusMemory(), context.turn.wall).node;
}

function rest(reporter: NodeReporter, { turn }: NodeContext): void {
  reporter.phase = 'resting';
  reporter.base = null;
  reporter.made = null;
  turn.wakeAt(nodeAddress, nextStatusUpdateAt(reporter.settings.updateFrequency, turn.random('status', nodeAddress.machine), turn.now));
}

// Registration.

function holdRegistration(reporter: NodeReporter, { turn }: NodeContext, atLeast: Micros = 0): void {
  reporter.phase = 'holding-registration';
  reporter.registrationTries++;
  turn.wakeAt(nodeAddress, turn.now + Math.max(registrationWait(reporter.registrationTries), atLeast));
}

function create(reporter: NodeReporter, context: NodeContext): void {
  const { settings } = reporter;
  reporter.phase = 'registering';
  reporter.pendingEvents = [];
  const made = updated(reporter, initialNode(settings, {}), context);
  reporter.made = made.node;
  const request = { client: 'main', resource: nodes, namespace: null, name: null, subresource: null, object: made.node } as const;
  context.turn.ask('apiWriter.create', nodeAddress, 'create', request, timeoutOf(reporter));
}

function registrationAnswered(reporter: NodeReporter, { op, outcome }: NodeReply, context: NodeContext): void {
  const node = answeredObject('nodes', outcome);
  if (op === 'apiWriter.create') {
    register(reporter, nodeCreated(registrationReply(outcome)), 'create', outcome, context);
    return;
  }
  if (op === 'apiReader.get') {
    if (node !== null) context.turn.log('info', 'Node was previously registered', { node: reporter.settings.nodeName });
    // Events for a new Node don't apply to an existing one.
    reporter.pendingEvents = [];
    reporter.base = node;
    assert(reporter.made !== null, 'a Node is registered that was not made');
    const step = existingNodeRead(node, reporter.made, reporter.machine?.hasDeviceCheckpoint === false);
    register(reporter, step, 'get', outcome, context);
    return;
  }
  register(reporter, existingNodePatched(outcome.ok), 'patch', outcome, context);
}

function register(reporter: NodeReporter, step: RegistrationStep, call: RegistrationCall, outcome: NodeReply['outcome'], context: NodeContext): void {
  const { turn } = context;
  const node = answeredObject('nodes', outcome);
  const error = outcome.ok ? null : outcome.error;
  const { nodeName } = reporter.settings;
  switch (step.kind) {
    case 'get':
      get(reporter, 'main', context);
      return;
    case 'patch':
      assert(reporter.base !== null, 'a Node is patched that was not read');
      patch(reporter, 'main', reporter.base, step.node, context);
      return;
    case 'retry':
      turn.log('error', registrationFailures[call], { node: nodeName, err: error?.message ?? null });
      holdRegistration(reporter, context, error?.retryAfterMicros ?? 0);
      return;
    case 'registered':
      turn.log('info', 'Successfully registered node', { node: nodeName });
      reporter.registered = true;
      reporter.registrationTries = 0;
      if (node !== null) known(reporter, node, context);
      flushEvents(reporter, context);
      report(reporter, context);
  }
}

function registrationReply(outcome: NodeReply['outcome']): RegistrationReply {
  if (outcome.ok) return 'ok';
  if (outcome.error.kind === 'already-exists') return 'already-exists';
  return outcome.error.kind === 'permission-denied' ? 'forbidden' : 'failed';
}

// Reports.

function report(reporter: NodeReporter, context: NodeContext): void {
  if (holdsBack(reporter, context)) rest(reporter, context);
  else act(reporter, startReport(reporter.report), context);
}

/** An agent that just started doesn't know enough to set a ready node to not ready. */
function holdsBack(reporter: NodeReporter, context: NodeContext): boolean {
  if (!reporter.starting || reporter.report.lastReportAt !== null || context.turn.now - reporter.startedAt >= startGrace) return false;
  return isReadyNode(newest(reporter, context)) && !isReady(context.view());
}

function act(reporter: NodeReporter, step: ReportStep, context: NodeContext): void {
  switch (step.kind) {
    case 'compute': {
      const node = step.source === 'cache' ? newest(reporter, context) : null;
      if (node === null) get(reporter, 'heartbeat', context);
      else compute(reporter, node, context);
      return;
    }
    case 'patch':
      patch(reporter, 'heartbeat', reporter.base as Node, reporter.made as Node, context);
      return;
    case 'gave-up':
      context.turn.log('error', 'Unable to update node status', { err: step.error });
      rest(reporter, context);
      return;
    case 'done':
      flushEvents(reporter, context);
      rest(reporter, context);
  }
}

function compute(reporter: NodeReporter, node: Node, context: NodeContext): void {
  const { turn } = context;
  const { node: made, errors } = updated(reporter, node, context);
  if (errors.length > 0) turn.log('error', 'Failed to set some node status fields', { node: reporter.settings.nodeName, err: errors.join('; ') });
  reporter.base = node;
  reporter.made = made;
  context.known(made);
  const labelsChanged = ['kubernetes.io/os', 'kubernetes.io/arch'].some((key) => node.metadata.labels?.[key] !== made.metadata.labels?.[key]);
  const changed = nodeStatusChanged(node.status ?? {}, made.status ?? {}) || labelsChanged || cidrChanged(reporter, node, context);
  act(
    reporter,
    statusComputed(reporter.report, changed, () => turn.random('report', nodeAddress.machine), turn.now),
    context,
  );
}

/** Sends the range to the runtime; until it is accepted, the node counts as changed. */
function cidrChanged(reporter: NodeReporter, { spec }: Node, { turn }: NodeContext): boolean {
  const podCidr = (spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR])).join(',');
  if (podCidr === '' || podCidr === reporter.podCidr) return false;
  if (turn.inFlight(nodeAddress, 'cidr')) return true;
  reporter.sentPodCidr = podCidr;
  turn.ask('runtime.updateConfig', nodeAddress, 'cidr', { podCidr }, lookTimeout);
  return true;
}

function cidrUpdated(reporter: NodeReporter, { outcome }: ReplyTo<NodeOperations, 'runtime.updateConfig'>, context: NodeContext): void {
  if (outcome.ok) {
    reporter.podCidr = reporter.sentPodCidr;
    // The range may have changed since it was sent.
    const node = newest(reporter, context);
    if (node !== null) cidrChanged(reporter, node, context);
  } else context.turn.log('error', 'Failed to update pod CIDR of the runtime', { err: outcome.error.message });
}

function answered(reporter: NodeReporter, reply: NodeReply, context: NodeContext): void {
  if (reporter.phase === 'registering') {
    registrationAnswered(reporter, reply, context);
    return;
  }
  if (reporter.phase !== 'reading' && reporter.phase !== 'patching') return;
  const { outcome } = reply;
  if (!outcome.ok) {
    failed(reporter, outcome.error, context);
    return;
  }
  const node = typedObject('nodes', outcome.value);
  known(reporter, node, context);
  if (reporter.phase === 'reading') compute(reporter, node, context);
  else act(reporter, statusSent(reporter.report, context.turn.now), context);
}

function failed(reporter: NodeReporter, error: PortFailure, context: NodeContext): void {
  const { settings, report } = reporter;
  const isGone = reporter.phase === 'reading' && error.kind === 'not-found';
  const { step } = reportFailed(report);
  if (isGone && settings.registerNode) {
    context.turn.log('error', 'The node is gone, registering it again', { node: settings.nodeName });
    Object.assign(report, { state: 'idle', lastReportAt: null });
    Object.assign(reporter, { registered: false, registrationTries: 0, answered: null });
    holdRegistration(reporter, context);
    return;
  }
  context.turn.log('error', 'Error updating node status, will retry', {
    err: `error ${reporter.phase === 'reading' ? 'getting' : 'patching'} node "${settings.nodeName}": ${error.message}`,
  });
  if (step.kind === 'compute' && error.retryAfterMicros !== null) {
    reporter.phase = 'pausing';
    context.turn.wakeAt(nodeAddress, context.turn.now + error.retryAfterMicros);
  } else act(reporter, step, context);
}

// What both have in common.

function updated(reporter: NodeReporter, node: Node, context: NodeContext): NodeUpdate {
  const update = updatedNode(node, factsOf(reporter, context.view()), reporter.memory, context.turn.wall);
  const pendingReasons = new Set(reporter.pendingEvents.map(({ reason }) => reason));
  reporter.pendingEvents.push(...update.events.filter(({ reason }) => !pendingReasons.has(reason)));
  return update;
}

function flushEvents(reporter: NodeReporter, context: NodeContext): void {
  for (const event of reporter.pendingEvents.splice(0)) context.event(event);
}

function get(reporter: NodeReporter, client: 'main' | 'heartbeat', { turn }: NodeContext): void {
  if (client === 'heartbeat') reporter.phase = 'reading';
  const request = { client, resource: nodes, namespace: null, name: reporter.settings.nodeName, resourceVersion: null };
  turn.ask('apiReader.get', nodeAddress, 'get', request, timeoutOf(reporter));
}

function patch(reporter: NodeReporter, client: 'main' | 'heartbeat', from: Node, to: Node, { turn }: NodeContext): void {
  if (client === 'heartbeat') reporter.phase = 'patching';
  const place = { client, resource: nodes, namespace: null, name: reporter.settings.nodeName, subresource: 'status' };
  turn.ask('apiWriter.patch', nodeAddress, 'patch', { ...place, patch: 'strategic-merge-patch', body: nodeStatusPatch(from, to) }, timeoutOf(reporter));
}

function timeoutOf({ settings }: NodeReporter): Micros {
  return Math.min(settings.updateFrequency, settings.leaseDurationSeconds * microsPerSecond);
}

function known(reporter: NodeReporter, node: Node, context: NodeContext): void {
  reporter.answered = node;
  context.known(node);
}

/** The newer of the watched copy and the last answer; null: read the Node from the API. */
function newest({ answered }: NodeReporter, context: NodeContext): Node | null {
  const { node: watched, absentUpTo } = context.watched();
  if (answered === null) return watched;
  if (watched === null) return absentUpTo !== null && versionOf(answered) <= absentUpTo ? null : answered;
  return versionOf(answered) >= versionOf(watched) ? answered : watched;
}

function versionOf({ metadata }: ApiObject): number {
  return Number(metadata.resourceVersion ?? 0);
}

function isReadyNode(node: Node | null): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}
