// Keeps the node's lease: performs the renewal's calls, and begins a cycle a quarter of the lease's duration after the last one ended.
//
// | state   | event                           | then                                          |
// |---------|---------------------------------|-----------------------------------------------|
// | calling | an answer                       | calling, pausing, or resting                  |
// | pausing | time                            | calling                                       |
// | resting | time, or the node is registered | a cycle begins                                |
//
// Invariant: it is independent of the node's status: a node whose status can't be written is alive all the same.

import type { Micros } from '../../ports/micros.js';
import type { ApiObject, ApiResource } from '../../ports/model/api-object.js';
import type { Lease } from '../../ports/model/lease.js';
import type { Flattened } from '../../ports/operation.js';
import type { ApiReaderOperations, ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { PortFailure } from '../../ports/port-error.js';
import { typedObject } from '../api-data/typed-object.js';
import { assert } from '../kernel/assert.js';
import type { Address, ReplyTo, Turn } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import {
  type LeaseAnswer,
  type LeaseCall,
  type LeaseRenewal,
  type LeaseStep,
  leaseAnswered,
  leaseNamespace,
  newLeaseRenewal,
  nextLeaseRenewalAt,
  startLeaseRenewal,
} from './lease-renewal.js';

export type LeaseOperations = Flattened<{ readonly apiReader: ApiReaderOperations; readonly apiWriter: ApiWriterOperations }>;

export interface LeaseKeeper {
  readonly renewal: LeaseRenewal;
  /** Of one call. */
  readonly timeout: Micros;
  /** Waits for its time; null: no pause. */
  paused: LeaseCall | null;
}

export const leaseAddress: Address = { machine: 'lease', key: '' };
const leases: ApiResource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
const nodes: ApiResource = { group: '', version: 'v1', plural: 'nodes' };

/** @param updateFrequency of the node's status: no call may take longer than that, or than the lease lasts */
export function newLeaseKeeper(nodeName: string, leaseDurationSeconds: number, updateFrequency: Micros): LeaseKeeper {
  const timeout = Math.min(updateFrequency, leaseDurationSeconds * microsPerSecond);
  return { renewal: newLeaseRenewal(nodeName, leaseDurationSeconds), timeout, paused: null };
}

/** Begins a cycle, unless one is in progress. @param nodeUid null: not known */
export function renewLease(keeper: LeaseKeeper, nodeUid: string | null, turn: Turn<LeaseOperations>): void {
  if (keeper.renewal.state !== 'idle') return;
  keeper.renewal.nodeUid = nodeUid;
  proceed(keeper, startLeaseRenewal(keeper.renewal, turn.wall), turn, 0);
}

/** The Node has come: a lease that could not be made without it is made now. */
export function leaseWanted(keeper: LeaseKeeper, nodeUid: string, turn: Turn<LeaseOperations>): void {
  const isNews = keeper.renewal.nodeUid !== nodeUid;
  if (isNews || keeper.renewal.held === null) renewLease(keeper, nodeUid, turn);
}

export function leaseWoken(keeper: LeaseKeeper, nodeUid: string | null, turn: Turn<LeaseOperations>): void {
  const { paused } = keeper;
  if (paused === null) {
    renewLease(keeper, nodeUid, turn);
    return;
  }
  keeper.paused = null;
  call(keeper, paused, turn);
}

export const leaseOperations = ['apiReader.get', 'apiWriter.create', 'apiWriter.update'] as const;
export type LeaseReply = ReplyTo<LeaseOperations, (typeof leaseOperations)[number]>;

export function leaseReplied(keeper: LeaseKeeper, { outcome }: LeaseReply, turn: Turn<LeaseOperations>): void {
  const { renewal } = keeper;
  const asked = renewal.state;
  assert(keeper.paused === null, 'a lease got an answer during a pause', asked);
  const answer = answerOf(renewal, outcome);
  if (!outcome.ok) logFailure(asked, outcome.error, turn);
  const retryAfter = outcome.ok ? 0 : (outcome.error.retryAfterMicros ?? 0);
  proceed(keeper, leaseAnswered(renewal, answer, turn.wall), turn, retryAfter);
}

/** An absent lease and a concurrent write are normal. A server without leases can't create one either. */
function logFailure(asked: LeaseRenewal['state'], { kind, message }: PortFailure, turn: Turn<LeaseOperations>): void {
  if (asked === 'update') {
    if (kind !== 'aborted') turn.log('error', 'Failed to update lease', { err: message });
  } else if (asked === 'read' || asked === 'create') {
    if (asked === 'create' || kind !== 'not-found') turn.log('error', 'Failed to ensure lease exists, will retry', { err: message });
    // The Node is not registered yet; the lease gets its owner reference afterwards.
  } else turn.log(kind === 'not-found' ? 'info' : 'error', 'Failed to get node when trying to set owner ref to the node lease', { err: message });
}

function answerOf({ state }: LeaseRenewal, outcome: LeaseReply['outcome']): LeaseAnswer {
  if (!outcome.ok) {
    if (outcome.error.kind === 'not-found') return { kind: 'not-found' };
    return { kind: outcome.error.kind === 'aborted' ? 'conflict' : 'failed' };
  }
  if (state === 'node-update' || state === 'node-create') return { kind: 'node', uid: outcome.value.metadata.uid ?? '' };
  return { kind: 'lease', lease: typedObject('leases', outcome.value) };
}

/** @param retryAfter the server's minimum delay */
function proceed(keeper: LeaseKeeper, { call: next }: LeaseStep, turn: Turn<LeaseOperations>, retryAfter: Micros): void {
  if (next === null) {
    const { leaseDurationSeconds } = keeper.renewal;
    turn.wakeAt(leaseAddress, nextLeaseRenewalAt(leaseDurationSeconds, turn.random('renewal', leaseAddress.machine), turn.now));
    return;
  }
  const after = Math.max(next.after, retryAfter);
  if (after === 0) {
    call(keeper, next, turn);
    return;
  }
  keeper.paused = next;
  turn.wakeAt(leaseAddress, turn.now + after);
}

function call({ renewal, timeout }: LeaseKeeper, next: LeaseCall, turn: Turn<LeaseOperations>): void {
  const name = renewal.nodeName;
  const lease = { client: 'heartbeat', resource: leases, namespace: leaseNamespace } as const;
  turn.wakeAt(leaseAddress, null);
  switch (next.op) {
    case 'get-node':
      turn.ask('apiReader.get', leaseAddress, 'call', { client: 'heartbeat', resource: nodes, namespace: null, name, resourceVersion: null }, timeout);
      return;
    case 'get-lease':
      turn.ask('apiReader.get', leaseAddress, 'call', { ...lease, name, resourceVersion: null }, timeout);
      return;
    case 'create-lease':
      turn.ask('apiWriter.create', leaseAddress, 'call', { ...lease, name: null, subresource: null, object: objectOf(next.lease) }, timeout);
      return;
    case 'update-lease':
      turn.ask('apiWriter.update', leaseAddress, 'call', { ...lease, name, subresource: null, object: objectOf(next.lease) }, timeout);
      return;
  }
}

function objectOf(lease: Lease): ApiObject {
  return { ...lease, apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as ApiObject;
}
