// Registers plugins by their sockets, and unregisters them. Level-triggered: a scan lists the sockets, and each socket's record is reconciled with
// it.
//
// | phase      | what ends it                                            | then                                              |
// |------------|---------------------------------------------------------|---------------------------------------------------|
// | info       | GetInfo answers                                         | nodeInfo; notify if the plugin is refused         |
// | nodeInfo   | NodeGetInfo answers                                     | objects; notify if it failed                      |
// | objects    | the Node and the CSINode are updated, or can't be       | notify                                            |
// | notify     | NotifyRegistrationStatus answers                        | registered, or refused                            |
// | registered | the socket is gone, or another one                      | leaving                                           |
// | refused    | its retry is due, or the socket is gone or another one  | info, or leaving                                  |
// | leaving    | it is removed from the Node and the CSINode             | forgotten, or info of the new socket              |
//
// A DRA driver has no entry in these objects: it moves from info to notify. Device plugins are refused, since they have no handler.
import type { Micros } from '../../ports/micros.js';
import type { CsiNodeInfo } from '../../ports/outbound/csi-node.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { PluginInfo } from '../../ports/outbound/plugin-sockets.js';
import { nextPause } from '../backoff/doubled-pause.js';
import { tryFailed, trySucceeded } from '../backoff/retry-pauses.js';
import type { ReplyTo } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import { type AllocatableContext, allocatableEnded, allocatableRead, allocatableSlot, planAllocatable, updateAllocatable } from './csi-allocatable.js';
import { addCsiNodeJob, type CsiNodeReply, csiNodeReplied, type KeeperContext } from './csi-node-keeper.js';
import { csiVersionOf } from './csi-versions.js';
import { draPluginProblem, draType, removeDraPlugin } from './dra-plugins.js';
import { type CsiNodeJob, csiNodeAddress, type PluginManager, type PluginRecord, pluginMachine, pluginScanAddress } from './plugin-manager-state.js';

/** The dialling and the answer of GetInfo. */
const infoTimeout: Micros = 11 * microsPerSecond;
/** The delay before the next request for the CSINode: while it can't be read, and from its first failed write, eight times as long each time. */
const csiNodePoll: Micros = microsPerSecond;
const csiNodeFirstPause: Micros = 30_000;
const csiNodePauseFactor = 8;
const csiNodeLongestPause: Micros = 123 * microsPerSecond;
const notifyTimeout: Micros = 5 * microsPerSecond;
const nodeInfoTimeout: Micros = 120 * microsPerSecond;
const firstDelay: Micros = 500_000;
const longestDelay: Micros = 122 * microsPerSecond;
/** Without a watch; with one a scan is only the safety net. */
const scanPeriod: Micros = microsPerSecond;
const scan = 'scan';
const watchedScanPeriod: Micros = 300 * microsPerSecond;
const csiType = 'CSIPlugin';

export interface PluginContext extends AllocatableContext {
  /** A CSI driver can be called from now on, or can't any more. */
  driverChanged(name: string): void;
  /** A DRA driver has become callable, or no longer is; null: this node has none. */
  readonly draDriverChanged: ((name: string) => void) | null;
}

export function scanPlugins(manager: PluginManager, { turn }: PluginContext): void {
  if (turn.inFlight(pluginScanAddress, scan)) manager.scanAgain = true;
  else turn.ask('pluginSockets.scan', pluginScanAddress, scan, null);
}

/** An answer about the plugin at a socket. @param key the socket's path */
export const pluginOperations = ['pluginSockets.info', 'pluginSockets.notify', 'csiNode.info'] as const;
type PluginReply = ReplyTo<AgentOperations, (typeof pluginOperations)[number]>;

/** @param key the socket's path */
export function pluginReplied(manager: PluginManager, key: string, reply: PluginReply, context: PluginContext): void {
  const record = manager.sockets.get(key);
  if (reply.op === 'csiNode.info' && reply.slot === allocatableSlot) counted(manager, record, key, reply, context);
  else if (record !== undefined) replied(manager, record, reply, context);
}

/** @param key the socket's path */
export function pluginWoken(manager: PluginManager, key: string, context: PluginContext): void {
  const record = manager.sockets.get(key);
  if (record?.phase === 'refused') begin(record, context);
  else if (record?.phase === 'registered') {
    updateAllocatable(manager, record.info?.name ?? '', context);
    planAllocatable(record, context);
  }
}

export function csiNodeAnswered(manager: PluginManager, reply: CsiNodeReply, context: PluginContext): void {
  csiNodeReplied(manager, reply, keeping(manager, context));
}

export function pluginsScanned(manager: PluginManager, { outcome }: ReplyTo<AgentOperations, 'pluginSockets.scan'>, context: PluginContext): void {
  const { turn } = context;
  let next = turn.now + scanPeriod;
  if (outcome.ok) trySucceeded(manager.scanPauses, scan);
  else {
    next = tryFailed(manager.scanPauses, scan, turn.now);
    turn.log('error', 'Unable to read the plugin registration directory', { err: outcome.error.message });
  }
  if (outcome.ok) take(manager, outcome.value, context);
  const watched = outcome.ok && outcome.value.watched;
  if (manager.scanAgain) {
    manager.scanAgain = false;
    scanPlugins(manager, context);
  } else turn.wakeAt(pluginScanAddress, watched ? turn.now + watchedScanPeriod : next);
}

function take(manager: PluginManager, { sockets }: AgentOperations['pluginSockets.scan']['reply'], context: PluginContext): void {
  const present = new Map(sockets.map(({ path, identity }) => [path, identity]));
  // Removed sockets come before new registrations, which may have the same name.
  for (const record of [...manager.sockets.values()]) {
    record.seen = present.get(record.path) ?? null;
    settle(manager, record, context);
  }
  for (const [path, identity] of present) {
    if (manager.sockets.has(path)) continue;
    const record: PluginRecord = { path, identity, seen: identity, phase: 'info', info: null, error: null, retryAt: 0, delay: 0 };
    manager.sockets.set(path, record);
    begin(record, context);
  }
}

/** Unregisters a plugin whose socket was replaced or removed. A registration in progress is handled at its end. */
function settle(manager: PluginManager, record: PluginRecord, context: PluginContext): void {
  if (record.seen === record.identity || (record.phase !== 'registered' && record.phase !== 'refused')) return;
  const name = record.info?.name ?? '';
  record.phase = 'leaving';
  const draDriver = removeDraPlugin(manager, record.path);
  if (draDriver !== null) {
    context.turn.log('info', 'DRA driver plugin deregistered', { driver: draDriver, socket: record.path });
    context.draDriverChanged?.(draDriver);
  }
  if (manager.drivers.get(name)?.socket !== record.path) {
    left(manager, record, context);
    return;
  }
  manager.drivers.delete(name);
  context.turn.log('info', 'CSI driver deregistered', { driver: name, socket: record.path });
  context.driverChanged(name);
  addCsiNodeJob(manager, name, record.path, null, keeping(manager, context));
}

function left(manager: PluginManager, record: PluginRecord, context: PluginContext): void {
  if (record.seen === null) {
    manager.sockets.delete(record.path);
    context.turn.end({ machine: pluginMachine, key: record.path });
    return;
  }
  record.identity = record.seen;
  record.delay = 0;
  begin(record, context);
}

function begin(record: PluginRecord, { turn }: PluginContext): void {
  record.phase = 'info';
  record.info = null;
  record.error = null;
  turn.ask('pluginSockets.info', { machine: pluginMachine, key: record.path }, 'step', { socket: record.path }, infoTimeout);
}

function replied(manager: PluginManager, record: PluginRecord, reply: PluginReply, context: PluginContext): void {
  const failure = reply.outcome.ok ? null : reply.outcome.error.message;
  switch (reply.op) {
    case 'pluginSockets.info':
      // A plugin that doesn't answer GetInfo can't be notified either.
      if (reply.outcome.ok) known(manager, record, reply.outcome.value, context);
      else refused(manager, record, `RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${record.path}, err: ${failure}`, context);
      return;
    case 'csiNode.info':
      if (reply.outcome.ok) nodeInfo(manager, record, reply.outcome.value, context);
      else notRegistered(manager, record, `kubernetes.io/csi: registration failed; error during CSI NodeGetInfo() call: ${failure}`, context);
      return;
    case 'pluginSockets.notify':
      notified(manager, record, failure, context);
  }
}

/** Takes the number of allocatable volumes; ignored for a removed socket. */
function counted(manager: PluginManager, record: PluginRecord | undefined, path: string, { outcome }: ReplyTo<AgentOperations, 'csiNode.info'>, context: PluginContext): void {
  if (record !== undefined) allocatableRead(manager, record, outcome, keeping(manager, context), context);
  else for (const name of [...manager.counting]) if (manager.drivers.get(name)?.socket !== path) allocatableEnded(manager, name, null, context);
}

function known(manager: PluginManager, record: PluginRecord, info: PluginInfo | null, context: PluginContext): void {
  record.info = info;
  const { type = '', name = '', endpoint = '', supportedVersions = [] } = info ?? {};
  if (type === draType && context.draDriverChanged !== null) {
    const draPlugin = { name, endpoint: endpoint === '' ? record.path : endpoint, socket: record.path };
    const problem = draPluginProblem(manager, name, draPlugin.endpoint, supportedVersions);
    if (problem === null) manager.draPlugins.push(draPlugin);
    notify(record, problem === null ? null : `RegisterPlugin error -- ${problem}`, context);
    return;
  }
  if (type !== csiType) {
    notify(record, `RegisterPlugin error -- no handler registered for plugin type: ${type} at socket ${record.path}`, context);
    return;
  }
  const version = csiVersionOf(name, supportedVersions, manager.drivers.get(name)?.version ?? null);
  if (!version.ok) {
    notify(record, `RegisterPlugin error -- plugin validation failed with err: ${version.message}`, context);
    return;
  }
  const driver = { name, endpoint: endpoint === '' ? record.path : endpoint, socket: record.path, version: version.version };
  manager.drivers.set(name, driver);
  record.phase = 'nodeInfo';
  context.turn.ask('csiNode.info', { machine: pluginMachine, key: record.path }, 'step', { endpoint: driver.endpoint }, nodeInfoTimeout);
}

function nodeInfo(manager: PluginManager, record: PluginRecord, { nodeId, maxVolumes, topology }: CsiNodeInfo, context: PluginContext): void {
  if (nodeId === '') {
    notRegistered(manager, record, 'kubernetes.io/csi: registration failed; error adding CSI driver node info: driverNodeID must not be empty', context);
    return;
  }
  record.phase = 'objects';
  const entry = { nodeId, topology, maxVolumes: maxVolumes > 0n ? Number(maxVolumes) : null };
  addCsiNodeJob(manager, record.info?.name ?? '', record.path, entry, keeping(manager, context));
}

function notRegistered(manager: PluginManager, record: PluginRecord, message: string, context: PluginContext): void {
  const name = record.info?.name ?? '';
  if (manager.drivers.get(name)?.socket === record.path) manager.drivers.delete(name);
  notify(record, `RegisterPlugin error -- plugin registration failed with err: ${message}`, context);
}

/** The current Node. A recreated one has lost its CSINode with the previous one: it is created, and its drivers register, again. */
export function pluginsNodeSeen(manager: PluginManager, uid: string, context: PluginContext): void {
  const isAnother = manager.nodeUid !== null && manager.nodeUid !== uid;
  manager.nodeUid = uid;
  if (isAnother && manager.csiNode === 'there') manager.csiNode = 'unknown';
  ensureCsiNode(manager, context);
  if (!isAnother) return;
  for (const record of [...manager.sockets.values()]) {
    if (record.phase !== 'registered') continue;
    record.identity = '';
    settle(manager, record, context);
  }
}

/** Creates the CSINode, with retries until it exists. The node isn't ready before. */
export function ensureCsiNode(manager: PluginManager, context: PluginContext): void {
  if (manager.csiNode !== 'unknown' || context.turn.now < manager.csiNodeNotBefore) return;
  manager.csiNode = 'asked';
  addCsiNodeJob(manager, '', null, null, keeping(manager, context));
}

/** Waits for an apiserver that can't be read yet; logs refused writes. */
function csiNodeEnded(manager: PluginManager, { step, isForeign }: CsiNodeJob, error: string | null, { turn }: PluginContext): void {
  manager.csiNode = error === null ? 'there' : 'unknown';
  manager.isCsiNodeForeign = isForeign;
  if (error === null) return;
  const wasRead = step === 'write' || step === 'delete';
  if (wasRead) {
    manager.csiNodeError = error;
    manager.csiNodeFailures++;
  }
  const pause = wasRead ? Math.min(csiNodeFirstPause * csiNodePauseFactor ** (manager.csiNodeFailures - 1), csiNodeLongestPause) : csiNodePoll;
  manager.csiNodeNotBefore = turn.now + pause;
  turn.wakeAt(csiNodeAddress, manager.csiNodeNotBefore);
  turn.log('error', 'Failed to initialize CSINode', { err: error });
}

function jobEnded(manager: PluginManager, job: CsiNodeJob, error: string | null, context: PluginContext): void {
  const { socket, driver } = job;
  if (driver === '') {
    csiNodeEnded(manager, job, error, context);
    return;
  }
  if (socket === null) {
    allocatableEnded(manager, driver, error, context);
    return;
  }
  const record = manager.sockets.get(socket);
  if (record?.phase === 'leaving') {
    if (error !== null) context.turn.log('error', 'Failed to remove the CSI driver from the objects of the node', { driver, err: error });
    left(manager, record, context);
  } else if (record?.phase === 'objects') {
    if (error === null) notify(record, null, context);
    else notRegistered(manager, record, `kubernetes.io/csi: ${error}`, context);
  }
}

/** @param error null: it is registered */
function notify(record: PluginRecord, error: string | null, { turn }: PluginContext): void {
  record.phase = 'notify';
  record.error = error;
  const request = { socket: record.path, registered: error === null, error: error ?? '' };
  turn.ask('pluginSockets.notify', { machine: pluginMachine, key: record.path }, 'step', request, notifyTimeout);
}

function notified(manager: PluginManager, record: PluginRecord, failure: string | null, context: PluginContext): void {
  const name = record.info?.name ?? '';
  if (record.error !== null) {
    refused(manager, record, record.error, context);
    return;
  }
  if (failure !== null) {
    // The driver may not know that it is registered: it must register again.
    if (manager.drivers.get(name)?.socket === record.path) manager.drivers.delete(name);
    removeDraPlugin(manager, record.path);
    refused(manager, record, `RegisterPlugin error -- failed to set registration status at socket ${record.path}, err: ${failure}`, context);
    return;
  }
  record.phase = 'registered';
  record.delay = 0;
  const draPlugin = manager.draPlugins.find(({ socket }) => socket === record.path);
  context.turn.log('info', 'Register new plugin', { driver: name, endpoint: (draPlugin ?? manager.drivers.get(name))?.endpoint ?? '' });
  if (draPlugin !== undefined) context.draDriverChanged?.(name);
  else {
    planAllocatable(record, context);
    context.driverChanged(name);
  }
  settle(manager, record, context);
}

function refused(manager: PluginManager, record: PluginRecord, message: string, context: PluginContext): void {
  const { turn } = context;
  record.phase = 'refused';
  record.error = message;
  record.delay = nextPause(record.delay, firstDelay, longestDelay);
  record.retryAt = turn.now + record.delay;
  turn.log('error', message, { socket: record.path });
  turn.wakeAt({ machine: pluginMachine, key: record.path }, record.retryAt);
  settle(manager, record, context);
}

function keeping(manager: PluginManager, context: PluginContext): KeeperContext {
  const { turn, nodeName, hasApi } = context;
  return { turn, nodeName, hasApi, jobEnded: (job, error) => jobEnded(manager, job, error, context) };
}
