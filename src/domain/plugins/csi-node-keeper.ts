// Maintains the API objects of this node's CSI drivers: the Node's annotation `csi.volume.kubernetes.io/nodeid` and topology labels, and the CSINode. Jobs
// run one after the other, each based on the current objects, so that entries of others stay.
//
//   job -> get Node -> patch its status (if anything differs) -> get CSINode -> create, update or leave it -> the registration continues
//   a CSINode that belongs to an earlier Node of this name -> delete it -> create it again
//
// A conflict is retried four times in all; any other failure ends the job, and the registration with it. Without an apiserver there are no jobs.
import type { Node } from '../../ports/model/node.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type CsiNodeDriver, type CsiNodeObject, typedObject } from '../api-data/typed-object.js';
import { assert } from '../kernel/assert.js';
import { canonicalJson } from '../kernel/canonical.js';
import type { ReplyTo, Turn } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import { microsPerSecond } from '../values/time.js';
import { type CsiNodeEntry, type CsiNodeJob, csiNodeAddress, type PluginManager } from './plugin-manager-state.js';

const triesMax = 4;
const timeout = 30 * microsPerSecond;
const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';
const migratedAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins';
const migratedPlugins = ['aws-ebs', 'azure-disk', 'azure-file', 'cinder', 'gce-pd', 'portworx-volume', 'vsphere-volume'].map((name) => `kubernetes.io/${name}`).join(',');
const nodes = { group: '', version: 'v1', plural: 'nodes' };
const csiNodes = { group: 'storage.k8s.io', version: 'v1', plural: 'csinodes' };
/** What Go's int32 holds. */
const countMax = 2_147_483_647;

export interface KeeperContext {
  readonly turn: Turn<AgentOperations>;
  readonly nodeName: string;
  /** Whether an apiserver is configured. */
  readonly hasApi: boolean;
  /** @param error null: the objects are up to date */
  jobEnded(job: CsiNodeJob, error: string | null): void;
}

export function addCsiNodeJob(manager: PluginManager, driver: string, socket: string | null, entry: CsiNodeEntry | null, context: KeeperContext): void {
  const job: CsiNodeJob = { driver, socket, entry, step: 'node', tries: 0, nodeUid: '', isForeign: false };
  if (!context.hasApi) {
    context.jobEnded(job, null);
    return;
  }
  manager.jobs.push(job);
  if (manager.jobs.length === 1) begin(job, context);
}

export const csiNodeOperations = ['apiReader.get', 'apiWriter.patch', 'apiWriter.create', 'apiWriter.update', 'apiWriter.delete'] as const;
export type CsiNodeReply = ReplyTo<AgentOperations, (typeof csiNodeOperations)[number]>;

export function csiNodeReplied(manager: PluginManager, reply: CsiNodeReply, context: KeeperContext): void {
  const { outcome } = reply;
  const job = manager.jobs[0];
  if (job === undefined) return;
  const failure = outcome.ok ? null : outcome.error;
  if (failure !== null && failure.kind === 'aborted' && ++job.tries < triesMax) {
    begin(job, context);
    return;
  }
  // An object that is already deleted counts as deleted.
  if (failure !== null && !(failure.kind === 'not-found' && (job.step === 'csiNode' || job.step === 'delete'))) {
    job.isForeign = job.step === 'write' && failure.kind === 'not-found';
    ended(manager, job, problemOf(job, failure.message), context);
    return;
  }
  const read = reply.op === 'apiReader.get' && reply.outcome.ok ? reply.outcome.value : null;
  switch (job.step) {
    case 'node':
      assert(read !== null, 'the Node was not read', job.driver);
      nodeRead(manager, job, typedObject('nodes', read), context);
      return;
    case 'annotate':
      assert(reply.op === 'apiWriter.patch', 'the Node was not annotated', reply.op);
      readCsiNode(job, context);
      return;
    case 'csiNode':
      assert(reply.op === 'apiReader.get', 'the CSINode was not read', reply.op);
      csiNodeRead(manager, job, read === null ? null : typedObject('csinodes', read), context);
      return;
    case 'delete':
      assert(reply.op === 'apiWriter.delete', 'the CSINode was not deleted', reply.op);
      create(job, driversOf(job, []), context);
      return;
    case 'write':
      assert(reply.op === 'apiWriter.create' || reply.op === 'apiWriter.update', 'the CSINode was not written', reply.op);
      ended(manager, job, null, context);
  }
}

function problemOf({ driver, step }: CsiNodeJob, message: string): string {
  if (driver === '') return `error updating CSINode annotation: timed out waiting for the condition; caused by: ${message}`;
  return `error updating ${step === 'node' || step === 'annotate' ? 'Node' : 'CSINode'} object with CSI driver node info: ${message}`;
}

function begin(job: CsiNodeJob, { turn, nodeName }: KeeperContext): void {
  job.step = 'node';
  turn.ask('apiReader.get', csiNodeAddress, 'step', { client: 'main', resource: nodes, namespace: null, name: nodeName, resourceVersion: null }, timeout);
}

function ended(manager: PluginManager, job: CsiNodeJob, error: string | null, context: KeeperContext): void {
  manager.jobs.shift();
  const next = manager.jobs[0];
  if (next !== undefined) begin(next, context);
  context.jobEnded(job, error);
}

function nodeRead(manager: PluginManager, job: CsiNodeJob, node: Node, context: KeeperContext): void {
  job.nodeUid = node.metadata.uid ?? '';
  if (job.driver === '') {
    readCsiNode(job, context);
    return;
  }
  const { annotations = {}, labels = {} } = node.metadata;
  const ids = new Map(Object.entries(idsOf(annotations[nodeIdAnnotation])));
  if (job.entry === null) ids.delete(job.driver);
  else ids.set(job.driver, job.entry.nodeId);
  const topology = Object.entries(job.entry?.topology ?? {});
  const collision = topology.find(([key, value]) => labels[key] !== undefined && labels[key] !== value);
  if (collision !== undefined) {
    const [key, value] = collision;
    const what = `detected topology value collision: driver reported ${goQuote(key)}:${goQuote(value)} but existing label is ${goQuote(key)}:${goQuote(labels[key] ?? '')}`;
    ended(manager, job, `error updating Node object with CSI driver node info: ${what}`, context);
    return;
  }
  const text = ids.size === 0 ? null : JSON.stringify(Object.fromEntries([...ids].sort(([a], [b]) => byCodeUnits(a, b))));
  if (text === (annotations[nodeIdAnnotation] ?? null) && topology.every(([key]) => labels[key] !== undefined)) {
    readCsiNode(job, context);
    return;
  }
  job.step = 'annotate';
  const metadata = { annotations: { [nodeIdAnnotation]: text }, ...(topology.length === 0 ? {} : { labels: Object.fromEntries(topology) }) };
  const request = { client: 'main', resource: nodes, namespace: null, name: context.nodeName, subresource: 'status', patch: 'strategic-merge-patch', body: { metadata } } as const;
  context.turn.ask('apiWriter.patch', csiNodeAddress, 'step', request, timeout);
}

/** Ignores anything but an object of texts. */
function idsOf(text: string | undefined): Readonly<Record<string, string>> {
  if (text === undefined) return {};
  try {
    const ids: unknown = JSON.parse(text);
    const isObject = typeof ids === 'object' && ids !== null && !Array.isArray(ids);
    return isObject && Object.values(ids).every((id) => typeof id === 'string') ? (ids as Record<string, string>) : {};
  } catch {
    return {};
  }
}

function readCsiNode(job: CsiNodeJob, { turn, nodeName }: KeeperContext): void {
  job.step = 'csiNode';
  turn.ask('apiReader.get', csiNodeAddress, 'step', { client: 'main', resource: csiNodes, namespace: null, name: nodeName, resourceVersion: null }, timeout);
}

function csiNodeRead(manager: PluginManager, job: CsiNodeJob, found: CsiNodeObject | null, context: KeeperContext): void {
  const before = found?.spec?.drivers ?? [];
  const drivers = driversOf(job, before);
  const place = { client: 'main', resource: csiNodes, namespace: null } as const;
  if (found !== null && isOfEarlierNode(found, job.nodeUid)) {
    job.step = 'delete';
    context.turn.ask('apiWriter.delete', csiNodeAddress, 'step', { ...place, name: context.nodeName, gracePeriodSeconds: null, uid: found.metadata.uid ?? null }, timeout);
    return;
  }
  const annotations = found?.metadata.annotations ?? {};
  const isSaid = canonicalJson(before) === canonicalJson(drivers) && annotations[migratedAnnotation] === migratedPlugins;
  if (found === null ? job.entry === null && job.driver !== '' : isSaid) {
    ended(manager, job, null, context);
    return;
  }
  if (found === null) {
    create(job, drivers, context);
    return;
  }
  job.step = 'write';
  const object = { ...found, metadata: { ...found.metadata, annotations: { ...annotations, [migratedAnnotation]: migratedPlugins } }, spec: { ...found.spec, drivers } };
  context.turn.ask('apiWriter.update', csiNodeAddress, 'step', { ...place, subresource: null, name: context.nodeName, object }, timeout);
}

/** Its drivers belong to a deleted node. */
function isOfEarlierNode({ metadata: { ownerReferences = [] } }: CsiNodeObject, nodeUid: string): boolean {
  return ownerReferences.some(({ kind, uid }) => kind === 'Node' && uid !== nodeUid);
}

function create(job: CsiNodeJob, drivers: readonly CsiNodeDriver[], { turn, nodeName }: KeeperContext): void {
  job.step = 'write';
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: job.nodeUid }];
  const metadata = { name: nodeName, annotations: { [migratedAnnotation]: migratedPlugins }, ownerReferences };
  const object = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata, spec: { drivers } };
  turn.ask('apiWriter.create', csiNodeAddress, 'step', { client: 'main', resource: csiNodes, namespace: null, subresource: null, name: null, object }, timeout);
}

function driversOf({ driver, entry }: CsiNodeJob, before: readonly CsiNodeDriver[]): readonly CsiNodeDriver[] {
  const others = before.filter(({ name }) => name !== driver);
  return entry === null ? others : [...others, driverOf(driver, entry)];
}

function driverOf(name: string, { nodeId, topology, maxVolumes }: CsiNodeEntry): CsiNodeDriver {
  const topologyKeys = Object.keys(topology).sort(byCodeUnits);
  const allocatable = maxVolumes === null ? {} : { allocatable: { count: Math.min(maxVolumes, countMax) } };
  return { name, nodeID: nodeId, topologyKeys: topologyKeys.length === 0 ? null : topologyKeys, ...allocatable };
}
