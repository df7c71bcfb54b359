// The volume limit of a driver on this node, updated: periodically if the driver's object has a period
// (`nodeAllocatableUpdatePeriodSeconds`), and when the controller found the node full.
//
//   time, or a full node -> NodeGetInfo -> the CSINode has the count (csi-node-keeper) -> waiting volumes are notified
//
// Invariant: one update a driver is in progress; a driver that is removed meanwhile isn't written back.
import type { CsiNodeInfo } from '../../ports/outbound/csi-node.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Outcome } from '../../ports/port-error.js';
import { microsPerSecond } from '../values/time.js';
import { addCsiNodeJob, type KeeperContext } from './csi-node-keeper.js';
import { type PluginManager, type PluginRecord, pluginMachine } from './plugin-manager-state.js';

const timeout = 120 * microsPerSecond;
export const allocatableSlot = 'allocatable';

export interface AllocatableContext extends Omit<KeeperContext, 'jobEnded'> {
  /** Seconds; null: not in the driver's object, or no object. */
  allocatablePeriod(driver: string): number | null;
  /** An update has ended, with or without success. */
  allocatableUpdated(driver: string): void;
}

/** Schedules the next update of the driver's count. */
export function planAllocatable({ info, path }: PluginRecord, { turn, allocatablePeriod }: AllocatableContext): void {
  const seconds = allocatablePeriod(info?.name ?? '');
  turn.wakeAt({ machine: pluginMachine, key: path }, seconds === null ? null : turn.now + seconds * microsPerSecond);
}

/** The API's objects of the drivers have changed. */
export function planAllocatables(manager: PluginManager, context: AllocatableContext): void {
  for (const record of manager.sockets.values()) if (record.phase === 'registered') planAllocatable(record, context);
}

/** False: the driver isn't registered. */
export function updateAllocatable(manager: PluginManager, name: string, { turn }: AllocatableContext): boolean {
  const driver = manager.drivers.get(name);
  const record = driver === undefined ? undefined : manager.sockets.get(driver.socket);
  if (driver === undefined || record?.phase !== 'registered') return false;
  const address = { machine: pluginMachine, key: record.path };
  if (!manager.counting.has(name) && !turn.inFlight(address, allocatableSlot)) {
    turn.ask('csiNode.info', address, allocatableSlot, { endpoint: driver.endpoint }, timeout);
    manager.counting.add(name);
  }
  return true;
}

export function allocatableRead(
  manager: PluginManager,
  record: PluginRecord,
  outcome: Outcome<AgentOperations['csiNode.info']['reply']>,
  keeper: KeeperContext,
  context: AllocatableContext,
): void {
  const name = record.info?.name ?? '';
  const isCurrent = record.phase === 'registered' && manager.drivers.get(name)?.socket === record.path;
  if (!outcome.ok || outcome.value.nodeId === '' || !isCurrent) {
    allocatableEnded(manager, name, outcome.ok ? null : outcome.error.message, context);
    return;
  }
  const { nodeId, topology, maxVolumes }: CsiNodeInfo = outcome.value;
  addCsiNodeJob(manager, name, null, { nodeId, topology, maxVolumes: maxVolumes > 0n ? Number(maxVolumes) : null }, keeper);
}

export function allocatableEnded(manager: PluginManager, driver: string, error: string | null, { turn, allocatableUpdated }: AllocatableContext): void {
  manager.counting.delete(driver);
  if (error !== null) turn.log('error', 'Failed to update CSINode allocatable', { driver, err: error });
  allocatableUpdated(driver);
}
